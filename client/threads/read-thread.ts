/**
 * Reading a thread by query; what is gone is `unknown_thread`, whoever finds out.
 *
 * D1  What is read is committed (`../committed-query.ts`).
 * D2  What was read is kept, within a bound: where the server says that nothing has happened since, no worker is asked,
 *     and else only for messages that are new, which never change.
 */
import { WorkflowNotFoundError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import { isErrorCode, isPerdureError, PerdureError } from '../../contract/errors.js';
import { READ_QUEUE, READ_SETTINGS, READ_THREAD } from '../../contract/names.js';
import { readPages } from '../../contract/pages.js';
import type { PageRequest } from '../../contract/pages.js';
import type { QueuePage, ThreadHeader, ThreadPage, ThreadSettings } from '../../contract/thread-commands.js';
import type { AgentMessage } from '../../contract/thread-records.js';
import { queryCommitted } from '../committed-query.js';
import { isSame, readExecution } from '../execution.js';
import type { Execution } from '../execution.js';
import { notOfTheWorkflow, unreachable } from '../explain-error.js';
import { createKept } from '../kept.js';
import { grpcError } from '../../live/server-reason.js';

const MOST_READS = 10;
/** In characters of the messages. */
const KEPT_CHARS = 16 * 1024 * 1024;

export interface StoredThread {
  header: ThreadHeader;
  /** Index of the first of the messages. */
  from: number;
  messages: AgentMessage[];
  /** How many messages the thread holds. */
  tail: number;
}

export interface ThreadReader {
  /** From a message on. */
  read(threadId: string, from: number): Promise<StoredThread>;
  header(threadId: string): Promise<ThreadHeader>;
  /** What a fork takes along beside the messages. */
  settings(threadId: string): Promise<Omit<ThreadSettings, 'as_of'>>;
  /** The messages that wait for their turn. */
  queue(threadId: string): Promise<AgentMessage[]>;
}

interface KeptThread {
  /** The first ones, as far as they were asked for. */
  messages: AgentMessage[];
  chars: number;
  header: ThreadHeader | undefined;
  tail: number;
  /** When the header was read. */
  at: Execution | undefined;
}

export function createThreadReader(client: Client): ThreadReader {
  const kept = createKept<KeptThread>(KEPT_CHARS);

  async function read(threadId: string, from: number): Promise<StoredThread> {
    const execution = await readExecution(client, threadId);
    const key = `${threadId} ${execution.firstRunId}`;
    const nothing: KeptThread = { messages: [], chars: 0, header: undefined, tail: 0, at: undefined };
    const thread = kept.get(key) ?? kept.put(key, nothing);
    const hasAll = from >= thread.tail || thread.messages.length === thread.tail;
    if (thread.header !== undefined && isSame(thread.at, execution) && hasAll) {
      return { header: thread.header, from, messages: thread.messages.slice(from), tail: thread.tail };
    }
    const first = Math.max(from, thread.messages.length);
    const begin = from <= thread.messages.length ? thread.messages.length : from;
    const { header, tail, texts } = await readConsistently(client, execution, begin);
    if (header.deleted) throw unknownThread(threadId);
    const found = texts.map((text) => JSON.parse(text) as AgentMessage);
    const before = thread.messages.slice(from, first);
    if (begin === thread.messages.length) {
      thread.messages.push(...found);
      thread.chars += texts.reduce((sum, text) => sum + text.length, 0);
    }
    Object.assign(thread, { header, tail, at: execution.hasTask ? undefined : execution });
    kept.measure(key, thread.chars);
    return { header, from, messages: [...before, ...found], tail };
  }

  const explained = async <T>(threadId: string, reading: () => Promise<T>): Promise<T> => {
    try {
      return await reading();
    } catch (error) {
      throw explainThread(error, threadId);
    }
  };

  async function readQueue(threadId: string): Promise<AgentMessage[]> {
    const messages: AgentMessage[] = [];
    const page = (request: PageRequest) =>
      queryCommitted<QueuePage, PageRequest>(client, threadId, READ_QUEUE, request);
    for await (const { text } of readPages(page, 0)) messages.push(JSON.parse(text) as AgentMessage);
    return messages;
  }

  async function readSettings(threadId: string): Promise<Omit<ThreadSettings, 'as_of'>> {
    const answer = await queryCommitted<ThreadSettings, undefined>(client, threadId, READ_SETTINGS, undefined);
    const { as_of: _, ...settings } = answer;
    return settings;
  }

  return {
    queue: (threadId) => explained(threadId, () => readQueue(threadId)),
    read: (threadId, from) => explained(threadId, () => read(threadId, from)),
    header: (threadId) => explained(threadId, async () => (await read(threadId, Number.MAX_SAFE_INTEGER)).header),
    settings: (threadId) => explained(threadId, () => readSettings(threadId)),
  };
}

/** Where it changes between two pages, what was read first belongs to another moment than the header: once more. */
async function readConsistently(
  client: Client,
  execution: Execution,
  from: number,
): Promise<{ header: ThreadHeader; tail: number; texts: string[] }> {
  const { workflowId } = execution;
  for (let n = 1; n <= MOST_READS; n++) {
    const pages: ThreadPage[] = [];
    const read = async (request: PageRequest) => {
      const known = pages.length === 0 && n === 1 ? execution : undefined;
      const page = await queryCommitted<ThreadPage, PageRequest>(client, workflowId, READ_THREAD, request, known);
      pages.push(page);
      return page;
    };
    const texts: string[] = [];
    for await (const { text } of readPages(read, from)) texts.push(text);
    const [first] = pages;
    if (first !== undefined && pages.every(({ header }) => header.counter === first.header.counter))
      return { header: first.header, tail: first.tail, texts };
  }
  throw new PerdureError('server_unreachable', `thread ${workflowId} changed during each of ${MOST_READS} readings`);
}

/** Throws `unknown_thread` where the workflow is closed. */
export async function checkRuns(client: Client, threadId: string): Promise<void> {
  try {
    if (!(await readExecution(client, threadId)).isOpen) throw unknownThread(threadId);
  } catch (error) {
    throw explainThread(error, threadId);
  }
}

export function unknownThread(threadId: string, cause?: unknown): PerdureError {
  return new PerdureError('unknown_thread', `there is no thread "${threadId}"`, { cause });
}

/** What the thread said no to. */
export function refused(code: unknown, message: string, cause?: unknown): PerdureError {
  const retry_after_ms = code === 'rate_limited' ? { retry_after_ms: 5_000 } : {};
  return new PerdureError(isErrorCode(code) ? code : 'invalid_request', message, { ...retry_after_ms, cause });
}

/** grpc.status.INVALID_ARGUMENT */
const INVALID_ARGUMENT = 3;

export function explainThread(error: unknown, threadId: string): Error {
  if (isPerdureError(error)) return error;
  const { cause } = error as { cause?: unknown };
  const other = notOfTheWorkflow(error);
  if (other !== undefined) return other;
  // Closed is deleted. And a workflow that knows no such query or update is no thread.
  if (error instanceof WorkflowNotFoundError) return unknownThread(threadId, error);
  if (error instanceof Error && error.name === 'QueryNotRegisteredError') return unknownThread(threadId, error);
  if (grpcError(error)?.code === INVALID_ARGUMENT) return unknownThread(threadId, error);
  if (error instanceof Error && error.name === 'WorkflowUpdateFailedError') {
    const { type, message } = (cause ?? error) as { type?: unknown; message: string };
    return refused(type, message, error);
  }
  return unreachable(error, `for thread ${threadId}`) ?? (error instanceof Error ? error : new Error(String(error)));
}
