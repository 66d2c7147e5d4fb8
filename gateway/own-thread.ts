/**
 * Whose a thread is, and who may do what with it. The thread itself says it, since a listing lags; and it says it once,
 * since that never changes. One that somebody may not read is answered exactly as one that is not there.
 */
import type { Threads } from '../client/index.js';
import { isPerdureError, PerdureError } from '../contract/errors.js';
import type { ThreadHeader } from '../contract/thread-commands.js';
import { isAdmin, userOf } from './principal.js';
import type { Principal } from './principal.js';

/** Of the record, what never changes. */
export type ThreadOwner = Pick<ThreadHeader['record'], 'org_id' | 'created_by' | 'visibility'>;

/** The thread that the path names. */
export interface NamedThread {
  thread_id: string;
  owner: ThreadOwner;
}

/** `isThere`: asked now, for what outlives its thread. */
export type OwnThread = (principal: Principal, threadId: string, isThere?: true) => Promise<NamedThread>;

/** How many owners are kept; those asked for longest ago go first. */
const MOST_KEPT = 10_000;

/** What it finds may have been deleted since: whoever reads it then is told so by the thread. */
export function createOwnThread(threads: Pick<Threads, 'header' | 'owner'>): OwnThread {
  const owners = new Map<string, ThreadOwner>();

  async function ownerOf(threadId: string, isThere = false): Promise<ThreadOwner> {
    const known = owners.get(threadId);
    if (known !== undefined && !isThere) {
      owners.delete(threadId);
      owners.set(threadId, known);
      return known;
    }
    if (isThere) return threads.owner(threadId);
    const { record, ready } = await threads.header(threadId);
    const { org_id, created_by, visibility } = record;
    const owner = { org_id, created_by, visibility };
    // Before its request was checked, what it says is not sure to stay.
    if (ready) owners.set(threadId, owner);
    const [oldest] = owners.keys();
    if (owners.size > MOST_KEPT && oldest !== undefined) owners.delete(oldest);
    return owner;
  }

  return async (principal, threadId, isThere) => {
    const missing = () => new PerdureError('unknown_thread', `there is no thread "${threadId}"`);
    try {
      const owner = await ownerOf(threadId, isThere);
      if (!mayReadThread(principal, owner)) throw missing();
      return { thread_id: threadId, owner };
    } catch (error) {
      throw isPerdureError(error) && error.code === 'unknown_thread' ? missing() : error;
    }
  };
}

export function mayReadThread(principal: Principal, { org_id, created_by, visibility }: ThreadOwner): boolean {
  if (principal.kind === 'local') return true;
  if (principal.org_id !== org_id) return false;
  return visibility === 'org' || principal.user_id === created_by || isAdmin(principal);
}

export function mayWrite(principal: Principal, { owner }: Pick<NamedThread, 'owner'>): boolean {
  return isAdmin(principal) || userOf(principal) === owner.created_by;
}

/** For whoever may read it: what changes a thread takes its creator, or an admin of the org. */
export function checkMayWrite(principal: Principal, thread: NamedThread): void {
  if (mayWrite(principal, thread)) return;
  const { thread_id } = thread;
  throw new PerdureError('thread_read_only', `thread ${thread_id} is somebody else’s, and you may only read it`);
}
