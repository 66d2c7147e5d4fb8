/** What the server says of a run that wrote no `run_completed`. */
import { WorkflowNotFoundError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import type { StreamMarker } from '../contract/live-events.js';

type StreamEnded = Extract<StreamMarker, { type: 'stream_ended' }>;

const REASONS: Record<string, StreamEnded['reason']> = {
  TERMINATED: 'terminated',
  TIMED_OUT: 'timed_out',
  FAILED: 'engine_failed',
  CANCELLED: 'engine_failed',
  COMPLETED: 'engine_failed',
};

const DESCRIBE_DEADLINE_MS = 5_000;

/** Undefined while the run goes on. */
export async function engineEnd(client: Client, runId: string): Promise<StreamEnded | undefined> {
  try {
    const { status } = await client.withDeadline(Date.now() + DESCRIBE_DEADLINE_MS, () =>
      client.workflow.getHandle(runId).describe(),
    );
    const reason = REASONS[status.name];
    if (reason === undefined) return undefined;
    const message = `Run ${runId} ended in the engine as ${status.name}, without an end in its log: nothing more will come.`;
    return { type: 'stream_ended', run_id: runId, reason, message };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) {
      const message = `There is no run ${runId}: check the id, the namespace and the retention.`;
      return { type: 'stream_ended', run_id: runId, reason: 'not_found', message };
    }
    throw error;
  }
}
