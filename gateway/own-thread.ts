/**
 * Whose a thread is, and who may do what with it. The thread itself says it, since a listing lags. One that somebody may
 * not read is answered exactly as one that is not there.
 */
import type { Threads } from '../client/index.js';
import { isPerdureError, PerdureError } from '../contract/errors.js';
import type { ThreadHeader } from '../contract/thread-commands.js';
import type { Principal } from './principal.js';

/** Of the record, what never changes. */
export type ThreadOwner = Pick<ThreadHeader['record'], 'org_id' | 'created_by' | 'visibility'>;

/** The thread that the path names. */
export interface NamedThread {
  thread_id: string;
  owner: ThreadOwner;
}

export async function ownThread(
  threads: Pick<Threads, 'header'>,
  principal: Principal,
  threadId: string,
): Promise<NamedThread> {
  const missing = () => new PerdureError('unknown_thread', `there is no thread "${threadId}"`);
  try {
    const { record } = await threads.header(threadId);
    const { org_id, created_by, visibility } = record;
    if (!mayReadThread(principal, record)) throw missing();
    return { thread_id: threadId, owner: { org_id, created_by, visibility } };
  } catch (error) {
    throw isPerdureError(error) && error.code === 'unknown_thread' ? missing() : error;
  }
}

export function mayReadThread(principal: Principal, { org_id, created_by, visibility }: ThreadOwner): boolean {
  if (principal.kind === 'local') return true;
  if (principal.org_id !== org_id) return false;
  return visibility === 'org' || principal.user_id === created_by || principal.role === 'admin';
}

/** For whoever may read it: what changes a thread takes its creator, or an admin of the org. */
export function checkMayWrite(principal: Principal, { thread_id, owner }: NamedThread): void {
  if (principal.kind === 'local' || principal.role === 'admin' || principal.user_id === owner.created_by) return;
  throw new PerdureError('thread_read_only', `thread ${thread_id} is somebody else’s, and you may only read it`);
}
