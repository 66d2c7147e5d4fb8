/**
 * The conversations of threads before the turn that goes on: from this worker's memory, where it ended the turn before
 * or has read it, else from the thread's history, and where that cannot tell, by query from the thread.
 *
 * P1  What is used always matches the digest that the turn was given.
 * P2  A thread only grows: of one that was known up to an earlier turn, only what came since is read.
 */
import type { Context } from '@temporalio/activity';
import type { CallModelInput } from '../contract/activities.js';
import { EMPTY_DIGEST, extendDigest } from '../contract/digest.js';
import { PerdureError } from '../contract/errors.js';
import type { BaseMessage } from '../contract/messages.js';
import { READ_CONTEXT } from '../contract/names.js';
import { readPages } from '../contract/pages.js';
import type { Page, PageRequest } from '../contract/pages.js';
import { BLANK_LINE } from '../contract/thread-context.js';
import { withRetries } from './query-retries.js';
import { afterTurn, contextBefore, isSame, recordFromHistory } from './thread-record.js';
import type { EndedTurn, ThreadRecord } from './thread-record.js';

type ThreadPrefix = NonNullable<CallModelInput['thread']>;

interface Entry {
  messages: readonly BaseMessage[];
  digest: string;
  /** What it was made from; unknown where it was read by query. */
  record?: ThreadRecord | undefined;
  /** The run of the turn that it is before. */
  turn?: string;
}

export interface ThreadPrefixes {
  /** What was said before the turn of that run. */
  load(prefix: ThreadPrefix, runId: string, context: Context): Promise<BaseMessage[]>;
  /** The turn of that run is the first one: nothing was said before it. */
  begin(threadId: string, runId: string): void;
  /** This worker has ended the turn of that run. */
  ended(threadId: string, runId: string, turn: EndedTurn): void;
}

const NOTHING: Entry = { messages: [], digest: EMPTY_DIGEST };

export function createThreadPrefixes(maxThreads: number): ThreadPrefixes {
  const entries = new Map<string, Entry>();
  const keep = (threadId: string, entry: Entry) => {
    entries.delete(threadId);
    if (maxThreads > 0) entries.set(threadId, entry);
    if (entries.size > maxThreads) entries.delete(entries.keys().next().value as string);
  };

  return {
    async load(prefix, runId, context) {
      const known = entries.get(prefix.thread_id) ?? NOTHING;
      const entry = matches(known, prefix)
        ? known
        : ((await fromHistory(prefix, known, context)) ?? (await byQuery(prefix, known, context)));
      keep(prefix.thread_id, { ...entry, turn: runId });
      return [...entry.messages];
    },
    begin(threadId, runId) {
      if (entries.get(threadId)?.turn !== runId)
        keep(threadId, { ...entryOf({ between: BLANK_LINE, messages: [] }), turn: runId });
    },
    ended(threadId, runId, turn) {
      const { record, turn: before } = entries.get(threadId) ?? NOTHING;
      if (record !== undefined && before === runId) keep(threadId, entryOf(afterTurn(record, turn)));
    },
  };
}

function entryOf(record: ThreadRecord): Entry {
  const { messages, digest } = contextBefore(record);
  return { messages, digest, record };
}

function matches({ messages, digest }: Entry, prefix: ThreadPrefix): boolean {
  return isSame({ length: messages.length, digest }, prefix);
}

async function fromHistory(prefix: ThreadPrefix, known: Entry, { client }: Context): Promise<Entry | undefined> {
  const { record, messages, digest } = known;
  const base = record === undefined ? undefined : { ...record, length: messages.length, digest };
  // What was kept may be of a thread that read its messages otherwise.
  for (const from of base === undefined ? [undefined] : [base, undefined]) {
    const found = await recordFromHistory(prefix.thread_id, prefix, from, client);
    const entry = found === undefined ? undefined : entryOf(found);
    if (entry !== undefined && matches(entry, prefix)) return entry;
  }
  return undefined;
}

async function byQuery(prefix: ThreadPrefix, known: Entry, context: Context): Promise<Entry> {
  const grown = prefix.length > known.messages.length ? await read(prefix, known, context) : known;
  // What was kept is of another thread of that name, or of one that was further on: all is read.
  const entry = matches(grown, prefix) ? grown : await read(prefix, NOTHING, context);
  if (matches(entry, prefix)) return entry;
  throw new PerdureError(
    'context_mismatch',
    `thread ${prefix.thread_id}: its first ${prefix.length} messages as read by query differ from what its turn was given`,
  );
}

async function read(prefix: ThreadPrefix, known: Entry, context: Context): Promise<Entry> {
  const handle = context.client.workflow.getHandle(prefix.thread_id);
  const page = (request: PageRequest) =>
    withRetries(context.client, 'the conversation', () => handle.query<Page, [PageRequest]>(READ_CONTEXT, request));
  const messages = [...known.messages];
  let { digest } = known;
  for await (const { text } of readPages(page, messages.length, prefix.length)) {
    messages.push(JSON.parse(text) as BaseMessage);
    digest = extendDigest(digest, text);
  }
  return { messages, digest };
}
