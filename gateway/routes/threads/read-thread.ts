/** A thread, what changed in it, and those that there are. */
import { z } from 'zod';
import { data, dataOf, dataPage, dataPageOf } from '../../envelope.js';
import { mayReadThread } from '../../own-thread.js';
import { readerOf } from '../../repeats.js';
import { defineRoute, defineThreadRoute } from '../../route.js';
import {
  ListedThread,
  listedThread,
  shownDelta,
  shownRecord,
  ThreadDelta,
  ThreadRecord,
} from '../../shapes/thread-answers.js';
import { ThreadQuery } from '../../shapes/thread-requests.js';

/** Python writes them with a capital. */
const yesOrNo = z.enum(['true', 'false', 'True', 'False'], 'must be true or false');

export const readThread = defineThreadRoute({
  operation: 'readThread',
  method: 'GET',
  path: '/v1/ai/threads/{thread_id}',
  summary: 'A thread with its messages; without them (load_messages=false), its token gives them all.',
  access: 'member',
  use: 'read',
  query: z.strictObject({ load_messages: yesOrNo.default('true') }),
  replies: { 200: { description: 'The thread.', schema: dataOf(ThreadRecord) } },
  async handle({ tools, principal, query, thread: { thread_id } }) {
    const record =
      query.load_messages.toLowerCase() === 'true'
        ? await tools.threads.get(thread_id, { reader: readerOf(principal) })
        : await tools.threads.getBare(thread_id);
    return data(shownRecord(record));
  },
});

export const readThreadDelta = defineThreadRoute({
  operation: 'readThreadDelta',
  method: 'GET',
  path: '/v1/ai/threads/{thread_id}/delta',
  summary: 'What changed since the token was given: blocks of a known message are appended to it.',
  access: 'member',
  use: 'read',
  query: z.strictObject({ next_token: z.string() }),
  replies: { 200: { description: 'The changes, and the next token.', schema: dataOf(ThreadDelta) } },
  async handle({ tools, principal, query, thread: { thread_id } }) {
    const reader = readerOf(principal);
    return data(shownDelta(await tools.threads.delta(thread_id, query.next_token, { reader })));
  },
});

export const listThreads = defineRoute({
  operation: 'listThreads',
  method: 'GET',
  path: '/v1/ai/threads',
  summary:
    'The threads that you may read, the latest first. A page may hold fewer than asked for: go on while there is a next_token. One that was just started may not be there yet.',
  access: 'member',
  query: ThreadQuery,
  replies: { 200: { description: 'A page of threads.', schema: dataPageOf(ListedThread) } },
  async handle({ tools, principal, query }) {
    const { created_after, created_before, limit, ...equal } = query;
    const { headers, next_token } = await tools.threads.list({
      ...(Object.fromEntries(Object.entries(equal).filter(([, value]) => value !== undefined)) as object),
      ...(principal.kind === 'local' ? {} : { org_id: principal.org_id }),
      ...(created_after === undefined ? {} : { created_after: new Date(created_after) }),
      ...(created_before === undefined ? {} : { created_before: new Date(created_before) }),
      limit: limit === undefined ? DEFAULT_LIMIT : Number(limit),
    });
    const mine = headers.filter(({ record }) => mayReadThread(principal, record));
    return dataPage(
      mine.map((header) => listedThread(header, readerOf(principal))),
      next_token ?? null,
    );
  },
});

const DEFAULT_LIMIT = 20;
