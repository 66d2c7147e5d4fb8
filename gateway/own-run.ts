/**
 * Whose a run is. The root says it, and the root's id is the part before the first `/`; a turn of a thread, and what is
 * below it, is the thread's. It is asked of the server itself, since a listing lags. A run of another org, or of a
 * thread that one may not read, is answered exactly as one that is not there.
 */
import type { RunRecord, Runs } from '../client/index.js';
import { isPerdureError, PerdureError } from '../contract/errors.js';
import { threadOfRun } from '../contract/thread-ids.js';
import type { NamedThread, OwnThread } from './own-thread.js';
import type { Principal } from './principal.js';
import type { NamedRun } from './route.js';

interface OwnRunOptions {
  runs: Pick<Runs, 'describe'>;
  ownThread: OwnThread;
}

/** With the thread, where it is a turn's. */
export async function ownRun(
  { runs, ownThread }: OwnRunOptions,
  principal: Principal,
  runId: string,
): Promise<{ run: NamedRun; thread?: NamedThread }> {
  const [root = ''] = runId.split('/');
  const threadId = threadOfRun(runId);
  const missing = () => new PerdureError('unknown_run', `there is no run "${runId}"`);
  try {
    if (threadId !== undefined) {
      const thread = await ownThread(principal, threadId, true);
      return { run: { run_id: runId, record: await runs.describe(runId) }, thread };
    }
    const record = await runs.describe(root);
    if (!mayRead(principal, record)) throw missing();
    if (root !== runId) await runs.describe(runId);
    return { run: { run_id: runId, record } };
  } catch (error) {
    const isUnknown = isPerdureError(error) && (error.code === 'unknown_run' || error.code === 'unknown_thread');
    throw isUnknown ? missing() : error;
  }
}

export function mayRead(principal: Principal, { org_id }: RunRecord): boolean {
  return principal.kind === 'local' || principal.org_id === org_id;
}

/** To stop what somebody else started takes an admin of the org. */
export function checkMayCancel(principal: Principal, { created_by }: RunRecord): void {
  if (principal.kind === 'local' || principal.role === 'admin' || principal.user_id === created_by) return;
  throw new PerdureError('forbidden', 'a run is canceled by whoever started it, or by an admin of the org');
}
