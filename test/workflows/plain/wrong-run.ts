/** Has the name of a run, and does nothing that one does: its history fits no bundle of ours. */
import { sleep } from '@temporalio/workflow';

export async function agentRun(): Promise<string> {
  await sleep(10);
  return 'done';
}
