/** What a stream says of a run that wrote no `run_completed`. */
import type { Client } from '@temporalio/client';
import type { StreamMarker } from '../contract/live-events.js';
import type { ClosedReader } from './closed-logs.js';
import { findExecution } from './execution.js';
import type { Execution } from './execution.js';
import { explain } from './explain-error.js';

export type StreamEnded = Extract<StreamMarker, { type: 'stream_ended' }>;

/** Undefined while the run goes on. */
export async function engineEnd(client: Client, closed: ClosedReader, runId: string): Promise<StreamEnded | undefined> {
  const kept = await closed.find(runId);
  if (kept !== undefined) return endOf(runId, { isOpen: false, status: kept.status });
  const execution = await findExecution(client, runId).catch((error: unknown) => {
    throw explain(error, runId);
  });
  return endOf(runId, execution);
}

export function endOf(
  runId: string,
  execution: Pick<Execution, 'isOpen' | 'status'> | undefined,
): StreamEnded | undefined {
  if (execution === undefined) {
    const message = `There is no run ${runId}: check the id, the namespace and the retention.`;
    return { type: 'stream_ended', run_id: runId, reason: 'not_found', message };
  }
  if (execution.isOpen) return undefined;
  const { status } = execution;
  const reason = status === 'TERMINATED' ? 'terminated' : status === 'TIMED_OUT' ? 'timed_out' : 'engine_failed';
  const message = `Run ${runId} ended in the engine as ${status}, without an end in its log: nothing more will come.`;
  return { type: 'stream_ended', run_id: runId, reason, message };
}
