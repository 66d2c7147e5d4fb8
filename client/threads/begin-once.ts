/**
 * A start that is repeated gives the thread that is there already, without a key of the caller's: the thread's id is made
 * of the request's mark, the time in pieces of some minutes, and a number. Ids whose threads were read by their creator,
 * or are gone, are used up; one that was not read yet is what the repeat asks for.
 */
import { createHash } from 'node:crypto';
import { WorkflowNotFoundError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import { isPerdureError } from '../../contract/errors.js';
import { THREAD_WORKFLOW } from '../../contract/names.js';
import { isRepeatOf, REPEATS_WITHIN_MS } from '../../contract/request-mark.js';
import type { RequestMark } from '../../contract/request-mark.js';
import { threadIdFor } from '../../contract/thread-ids.js';
import type { AgentThreadRecord } from '../../contract/thread-records.js';
import { explainThread } from './read-thread.js';
import type { ThreadReader } from './read-thread.js';
import { untilReady } from './start-thread.js';

export interface Begun {
  record: AgentThreadRecord;
  /** False: it was there already. */
  created: boolean;
}

interface BeginOptions {
  /** Named in the thread's id. */
  agentId: string;
  client: Client;
  get: (threadId: string) => Promise<AgentThreadRecord>;
  reader: ThreadReader;
  mark: RequestMark;
  begin: (threadId: string) => Promise<AgentThreadRecord>;
}

const DEADLINE_MS = 5_000;

export async function beginOnce({ agentId, client, get, reader, mark, begin }: BeginOptions): Promise<Begun> {
  const piece = Math.floor(Date.now() / REPEATS_WITHIN_MS);
  const isUnseen = async (threadId: string) => {
    try {
      const { unseen = [] } = await reader.header(threadId);
      return unseen.some((request) => isRepeatOf(request, mark, Date.now()));
    } catch (error) {
      if (isPerdureError(error) && error.code === 'unknown_thread') return false;
      throw error;
    }
  };
  const theOneBefore = async (threadId: string): Promise<Begun> => {
    await untilReady(client, reader, threadId);
    return { record: await get(threadId), created: false };
  };
  // Begun at the end of the piece before this one.
  for (let n = 0; ; n++) {
    const threadId = idOf(agentId, mark, piece - 1, n);
    const state = await stateOf(client, threadId);
    if (state === 'missing') break;
    if (state === 'open' && (await isUnseen(threadId))) return theOneBefore(threadId);
  }
  for (let n = 0; ; n++) {
    const threadId = idOf(agentId, mark, piece, n);
    try {
      return { record: await begin(threadId), created: true };
    } catch (error) {
      if (!isPerdureError(error) || error.code !== 'thread_exists') throw error;
    }
    if ((await stateOf(client, threadId)) === 'open' && (await isUnseen(threadId))) return theOneBefore(threadId);
  }
}

function idOf(agentId: string, { by, digest }: RequestMark, piece: number, n: number): string {
  const print = createHash('sha256')
    .update(JSON.stringify([by, digest, piece, n]))
    .digest('hex');
  return threadIdFor(agentId, print.slice(0, 40));
}

async function stateOf(client: Client, threadId: string): Promise<'missing' | 'open' | 'over'> {
  try {
    const { status, type } = await client.withDeadline(Date.now() + DEADLINE_MS, () =>
      client.workflow.getHandle(threadId).describe(),
    );
    return status.name === 'RUNNING' && type === THREAD_WORKFLOW ? 'open' : 'over';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return 'missing';
    throw explainThread(error, threadId);
  }
}
