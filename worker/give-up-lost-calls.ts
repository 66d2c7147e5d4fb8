/**
 * Gives up the calls of a worker that died, so that their next attempts begin at once and not when heartbeats have been
 * missed for long enough.
 *
 * D1  Only calls of which the server says that this worker has them, in this attempt, and that it has sent no heartbeat
 *     since it fell silent: one that only Redis cannot see sends them all the more often, and is left alone.
 * D2  A call that would have another attempt gets it now. One that has none ends as after a missed heartbeat, which is
 *     what a workflow takes for a lost worker: a tool that is not safe to repeat ends as `outcome_unknown`.
 * D3  A worker that was only paused does no harm: the server takes nothing more from its attempts.
 */
import { WorkflowNotFoundError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import { ApplicationFailure, TimeoutFailure } from '@temporalio/common';
import { isIdentityOf } from '../live/presence.js';
import type { OpenCall, SilentPeer } from '../live/presence.js';

/** From a first look at the calls to the second: one that lives has sent a heartbeat in between. */
export const LOOKED_AGAIN_AFTER_MS = 800;
export const NEXT_ATTEMPT_AFTER_MS = 1;
const DEADLINE_MS = 3_000;

interface Look {
  call: OpenCall;
  heartbeat: string;
}

/** For a peer that has fallen silent. Rejects where it is left to the heartbeats. */
export async function giveUpLostCalls(client: Client, peer: SilentPeer, report: (line: string) => void): Promise<void> {
  if (!(await peer.take())) return;
  try {
    if (await isGone(client, peer, report)) await peer.forget();
  } finally {
    await peer.leave();
  }
}

async function isGone(client: Client, peer: SilentPeer, report: (line: string) => void): Promise<boolean> {
  const look = async (calls: readonly OpenCall[]) =>
    (await Promise.all(calls.map((call) => lookAt(client, peer.worker, call)))).filter((found) => found !== undefined);
  const before = await look(await peer.calls());
  await new Promise((resolve) => setTimeout(resolve, LOOKED_AGAIN_AFTER_MS));
  if (!(await peer.isSilent())) return false;
  const after = await look(before.map(({ call }) => call));
  const lost = after.filter(({ call, heartbeat }) =>
    before.some((earlier) => earlier.call === call && earlier.heartbeat === heartbeat),
  );
  await Promise.all(lost.map(({ call }) => giveUp(client, peer.worker, call)));
  if (lost.length > 0) report(`worker ${peer.worker} is gone: ${lost.length} calls that it ran begin anew, or end`);
  return lost.length === before.length;
}

/** D1: undefined where the call is over, or somebody else's by now. */
async function lookAt(client: Client, worker: string, call: OpenCall): Promise<Look | undefined> {
  const { workflowId, runId } = call;
  const description = await client
    .withDeadline(Date.now() + DEADLINE_MS, () => client.workflow.getHandle(workflowId, runId).describe())
    .catch((error: unknown) => {
      if (error instanceof WorkflowNotFoundError) return undefined;
      throw error;
    });
  const pendingActivities = description?.raw.pendingActivities;
  const pending = pendingActivities?.find(({ activityId }) => activityId === call.activityId);
  if (pending?.attempt !== call.attempt || !isIdentityOf(worker, pending.lastWorkerIdentity ?? '')) return undefined;
  const { seconds, nanos } = pending.lastHeartbeatTime ?? {};
  return { call, heartbeat: `${seconds?.toString() ?? 'none'}.${nanos ?? 0}` };
}

async function giveUp(client: Client, worker: string, call: OpenCall): Promise<void> {
  const { workflowId, runId, activityId, isLast } = call;
  const message = `worker ${worker} was lost`;
  const failure = isLast
    ? new TimeoutFailure(message, undefined, 'HEARTBEAT')
    : ApplicationFailure.create({ message, type: 'worker_lost', nextRetryDelay: NEXT_ATTEMPT_AFTER_MS });
  try {
    await client.withDeadline(Date.now() + DEADLINE_MS, () =>
      client.activity.fail({ workflowId, runId, activityId }, failure),
    );
  } catch (error) {
    // It has ended meanwhile.
    if (!(error instanceof Error && error.name === 'ActivityNotFoundError')) throw error;
  }
}
