/** Reading a thread by query, with a deadline; what is gone is `unknown_thread`, whoever finds out. */
import { isGrpcServiceError, WorkflowNotFoundError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import { isErrorCode, isPerdureError, PerdureError } from '../../contract/errors.js';
import { READ_SETTINGS, READ_THREAD } from '../../contract/names.js';
import { readPages } from '../../contract/pages.js';
import type { PageRequest } from '../../contract/pages.js';
import type { ThreadHeader, ThreadPage, ThreadSettings } from '../../contract/thread-commands.js';
import type { AgentMessage } from '../../contract/thread-records.js';
import { unreachable } from '../explain-error.js';

const QUERY_DEADLINE_MS = 5_000;
const MOST_READS = 10;

export interface StoredThread {
  header: ThreadHeader;
  /** Index of the first of the messages. */
  from: number;
  messages: AgentMessage[];
  /** How many messages the thread holds. */
  tail: number;
}

export async function readThread(client: Client, threadId: string, from: number): Promise<StoredThread> {
  const handle = client.workflow.getHandle(threadId);
  let last: ThreadPage | undefined;
  let counters = new Set<number>();
  const read = async (request: PageRequest) => {
    last = await client.withDeadline(Date.now() + QUERY_DEADLINE_MS, () =>
      handle.query<ThreadPage, [PageRequest]>(READ_THREAD, request),
    );
    counters.add(last.header.counter);
    return last;
  };
  try {
    for (let n = 1; ; n++) {
      counters = new Set();
      const messages: AgentMessage[] = [];
      for await (const { text } of readPages(read, from)) messages.push(JSON.parse(text) as AgentMessage);
      if (last === undefined) throw new PerdureError('internal', `thread ${threadId} gave no page`);
      const { header, tail } = last;
      if (header.deleted) throw unknownThread(threadId);
      // It changed between two pages: what was read first may belong to another moment than the header.
      if (counters.size === 1) return { header, from, messages, tail };
      if (n >= MOST_READS)
        throw new PerdureError('server_unreachable', `thread ${threadId} changed during each of ${n} readings`);
    }
  } catch (error) {
    throw explainThread(error, threadId);
  }
}

/** What a fork takes along beside the messages. */
export async function readSettings(client: Client, threadId: string): Promise<ThreadSettings> {
  const handle = client.workflow.getHandle(threadId);
  try {
    return await client.withDeadline(Date.now() + QUERY_DEADLINE_MS, () => handle.query<ThreadSettings>(READ_SETTINGS));
  } catch (error) {
    throw explainThread(error, threadId);
  }
}

/** Throws `unknown_thread` where the workflow is closed. */
export async function checkRuns(client: Client, threadId: string): Promise<void> {
  try {
    const { status } = await client.withDeadline(Date.now() + QUERY_DEADLINE_MS, () =>
      client.workflow.getHandle(threadId).describe(),
    );
    if (status.name !== 'RUNNING') throw unknownThread(threadId);
  } catch (error) {
    throw explainThread(error, threadId);
  }
}

export function unknownThread(threadId: string, cause?: unknown): PerdureError {
  return new PerdureError('unknown_thread', `there is no thread "${threadId}"`, { cause });
}

/** grpc.status.INVALID_ARGUMENT */
const INVALID_ARGUMENT = 3;

export function explainThread(error: unknown, threadId: string): Error {
  if (isPerdureError(error)) return error;
  const { cause } = error as { cause?: unknown };
  // Closed is deleted. And a workflow that knows no such query or update is no thread.
  if (error instanceof WorkflowNotFoundError) return unknownThread(threadId, error);
  if (error instanceof Error && error.name === 'QueryNotRegisteredError') return unknownThread(threadId, error);
  if (isGrpcServiceError(cause) && cause.code === INVALID_ARGUMENT) return unknownThread(threadId, error);
  if (error instanceof Error && error.name === 'WorkflowUpdateFailedError') {
    const { type, message } = (cause ?? error) as { type?: unknown; message: string };
    return new PerdureError(isErrorCode(type) ? type : 'invalid_request', message, { cause: error });
  }
  return unreachable(error, `for thread ${threadId}`) ?? (error instanceof Error ? error : new Error(String(error)));
}
