/**
 * The conversations of threads, as far as this worker has read them. A thread only grows, so what is there is good for
 * every later turn, and a turn costs the reading of what the one before it added.
 */
import type { Context } from '@temporalio/activity';
import type { CallModelInput } from '../contract/activities.js';
import { EMPTY_DIGEST, extendDigest } from '../contract/digest.js';
import { PerdureError } from '../contract/errors.js';
import type { BaseMessage } from '../contract/messages.js';
import { READ_CONTEXT } from '../contract/names.js';
import { readPages } from '../contract/pages.js';
import type { Page, PageRequest } from '../contract/pages.js';
import { withRetries } from './query-retries.js';

type ThreadPrefix = NonNullable<CallModelInput['thread']>;

interface Entry {
  messages: BaseMessage[];
  digest: string;
}

export interface ThreadPrefixes {
  load(prefix: ThreadPrefix, context: Context): Promise<BaseMessage[]>;
}

export function createThreadPrefixes(maxThreads: number): ThreadPrefixes {
  const entries = new Map<string, Entry>();

  async function read(prefix: ThreadPrefix, known: Entry, context: Context): Promise<Entry> {
    const handle = context.client.workflow.getHandle(prefix.thread_id);
    const page = (request: PageRequest) => withRetries(() => handle.query<Page, [PageRequest]>(READ_CONTEXT, request));
    const messages = [...known.messages];
    let { digest } = known;
    for await (const { text } of readPages(page, messages.length, prefix.length)) {
      messages.push(JSON.parse(text) as BaseMessage);
      digest = extendDigest(digest, text);
    }
    return { messages, digest };
  }

  const isMatch = (entry: Entry, { length, digest }: ThreadPrefix) =>
    entry.messages.length === length && entry.digest === digest;

  return {
    async load(prefix, context) {
      const nothing: Entry = { messages: [], digest: EMPTY_DIGEST };
      const known = entries.get(prefix.thread_id) ?? nothing;
      let entry = known;
      if (!isMatch(entry, prefix) && prefix.length > entry.messages.length) entry = await read(prefix, known, context);
      // What was kept is of another thread of that name, or of one that was further on: all is read.
      if (!isMatch(entry, prefix)) entry = await read(prefix, nothing, context);
      if (!isMatch(entry, prefix)) {
        throw new PerdureError(
          'context_mismatch',
          `thread ${prefix.thread_id}: its first ${prefix.length} messages as read by query differ from what its turn was given`,
        );
      }
      entries.delete(prefix.thread_id);
      if (maxThreads > 0) entries.set(prefix.thread_id, entry);
      if (entries.size > maxThreads) entries.delete(entries.keys().next().value as string);
      return [...entry.messages];
    },
  };
}
