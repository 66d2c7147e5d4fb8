/**
 * Whose a thread is, by what was noted when it was started: the server says it, with no worker there. Where nothing was
 * noted, or something is just being done to the thread, which may be its end, the thread itself is asked.
 */
import type { Client } from '@temporalio/client';
import { MEMO, THREAD_MEMO, THREAD_WORKFLOW } from '../../contract/names.js';
import type { ThreadHeader } from '../../contract/thread-commands.js';
import { executionOf } from '../execution.js';
import { explainThread, unknownThread } from './read-thread.js';
import type { ThreadReader } from './read-thread.js';

const DEADLINE_MS = 5_000;

export type ThreadOwner = Pick<ThreadHeader['record'], 'org_id' | 'created_by' | 'visibility'>;

export async function readOwner(client: Client, reader: ThreadReader, threadId: string): Promise<ThreadOwner> {
  try {
    const description = await client.withDeadline(Date.now() + DEADLINE_MS, () =>
      client.workflow.getHandle(threadId).describe(),
    );
    const { isOpen, hasTask } = executionOf(description);
    if (description.type !== THREAD_WORKFLOW || !isOpen) throw unknownThread(threadId);
    const noted = (name: string) => (typeof description.memo?.[name] === 'string' ? description.memo[name] : '');
    const visibility = noted(THREAD_MEMO.visibility);
    if (!hasTask && (visibility === 'private' || visibility === 'org')) {
      return { org_id: noted(MEMO.org_id), created_by: noted(MEMO.created_by), visibility };
    }
    const { org_id, created_by, visibility: own } = (await reader.header(threadId)).record;
    return { org_id, created_by, visibility: own };
  } catch (error) {
    throw explainThread(error, threadId);
  }
}
