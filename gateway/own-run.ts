/**
 * Whose a run is. The root says it, and the root's id is the part before the first `/`. It is asked of the server
 * itself, since a listing lags. A run of another org is answered exactly as one that is not there.
 */
import type { RunRecord, Runs } from '../client/index.js';
import { isPerdureError, PerdureError } from '../contract/errors.js';
import type { Principal } from './principal.js';
import type { NamedRun } from './route.js';

export async function ownRun(runs: Pick<Runs, 'describe'>, principal: Principal, runId: string): Promise<NamedRun> {
  const [root = ''] = runId.split('/');
  const missing = () => new PerdureError('unknown_run', `there is no run "${runId}"`);
  try {
    const record = await runs.describe(root);
    if (!mayRead(principal, record)) throw missing();
    if (root !== runId) await runs.describe(runId);
    return { run_id: runId, record };
  } catch (error) {
    throw isPerdureError(error) && error.code === 'unknown_run' ? missing() : error;
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
