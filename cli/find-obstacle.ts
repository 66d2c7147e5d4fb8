/** What keeps a run from going on, as far as it can be seen from outside. */
import type { Client } from '@temporalio/client';
import { workerPolls } from '../client/worker-polls.js';
import { TASK_QUEUE } from '../contract/names.js';
import { messageOf } from './command-error.js';

const DEADLINE_MS = 3_000;
/** A task that failed once or twice may have met a worker that was going down. */
const HOPELESS_ATTEMPTS = 3;

/** In a sentence; undefined where nothing is wrong. */
export async function findObstacle(client: Client, runId: string, taskQueue = TASK_QUEUE): Promise<string | undefined> {
  const { namespace } = client.options;
  try {
    if (!(await workerPolls(client, taskQueue))) {
      return `no worker polls the task queue "${taskQueue}" in the namespace "${namespace}": the run waits until one starts`;
    }
    const { raw } = await soon(client, () => client.workflow.getHandle(runId).describe());
    if ((raw.pendingWorkflowTask?.attempt ?? 0) < HOPELESS_ATTEMPTS) return undefined;
    return `the worker fails at this run again and again: its log says why. Command and worker must share one --data-dir`;
  } catch (error) {
    return `the server does not answer (${messageOf(error)}): still trying`;
  }
}

function soon<T>(client: Client, call: () => Promise<T>): Promise<T> {
  return client.withDeadline(Date.now() + DEADLINE_MS, call);
}
