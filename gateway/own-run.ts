/**
 * Whose a run is. The root says it, and the root's id is the part before the first `/`; a turn of a thread, and what is
 * below it, is the thread's. It is asked of the server itself, since a listing lags. A run of another org, or of a
 * thread that one may not read, is answered exactly as one that is not there.
 */
import type { RunRecord, Runs } from '../client/index.js';
import { isPerdureError, PerdureError } from '../contract/errors.js';
import { answerRefused } from '../contract/policy.js';
import { callerOf } from '../contract/principal.js';
import { threadOfRun } from '../contract/thread-ids.js';
import type { NamedThread, OwnThread } from './own-thread.js';
import { isAdmin, runPrincipal, userOf } from './principal.js';
import type { Principal } from './principal.js';
import type { Catalog } from './shapes/catalog.js';
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
    if (root === runId) return { run: { run_id: runId, record } };
    // Whose it is, the root says; what it is, the run itself.
    return { run: { run_id: runId, record: { ...(await runs.describe(runId)), ...ownerOf(record) } } };
  } catch (error) {
    const isUnknown = isPerdureError(error) && (error.code === 'unknown_run' || error.code === 'unknown_thread');
    throw isUnknown ? missing() : error;
  }
}

function ownerOf({ org_id, created_by }: RunRecord): Pick<RunRecord, 'org_id' | 'created_by'> {
  return { ...(org_id === undefined ? {} : { org_id }), ...(created_by === undefined ? {} : { created_by }) };
}

export function mayRead(principal: Principal, { org_id }: RunRecord): boolean {
  return principal.kind === 'local' || principal.org_id === org_id;
}

/** To stop what somebody else started takes an admin of the org. */
export function checkMayCancel(principal: Principal, { created_by }: RunRecord): void {
  if (isAdmin(principal) || userOf(principal) === created_by) return;
  throw new PerdureError('forbidden', 'a run is canceled by whoever started it, or by an admin of the org');
}

/** The rule of the run's own agent. The run checks it once more, with those of its ancestors. */
export function checkMayAnswer(
  { policies }: Catalog,
  principal: Principal,
  { agent_id, org_id, created_by }: Pick<RunRecord, 'agent_id' | 'org_id' | 'created_by'>,
  kind: 'answers' | 'approvals',
): void {
  const by = runPrincipal(principal);
  if (by === undefined) return;
  const policy = agent_id === undefined ? undefined : policies.get(agent_id);
  const creator = callerOf({ org_id, created_by }).principal;
  const why = answerRefused(policy === undefined ? [] : [policy], kind, by, creator);
  if (why !== undefined) throw new PerdureError('forbidden', why);
}
