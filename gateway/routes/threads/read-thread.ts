/** A thread, what changed in it, and those that there are. */
import { z } from 'zod';
import { data, dataOf, dataPage, dataPageOf } from '../../envelope.js';
import { chooseProfile } from '../../principal.js';
import { readerOf } from '../../repeats.js';
import { defineRoute, defineThreadRoute } from '../../route.js';
import {
  ListedThread,
  listedThread,
  shownDelta,
  shownHeader,
  shownRecord,
  ThreadDelta,
  ThreadRecord,
} from '../../shapes/thread-answers.js';
import { ThreadQuery, ThreadSearch } from '../../shapes/thread-requests.js';
import { visibleThreads } from '../../visible-threads.js';

/** Python writes them with a capital. */
const yesOrNo = z.enum(['true', 'false', 'True', 'False'], 'must be true or false');

/** As for the streams of runs: one of the credential's. */
const profile = z.string().optional();

export const readThread = defineThreadRoute({
  operation: 'readThread',
  method: 'GET',
  path: '/v1/ai/threads/{thread_id}',
  summary:
    'A thread with its messages; without them (load_messages=false), its token gives them all. With those that wait for their turn (queued=true) as not_started at the end.',
  access: 'threads:read',
  use: 'read',
  query: z.strictObject({ load_messages: yesOrNo.default('true'), queued: yesOrNo.default('false'), profile }),
  replies: { 200: { description: 'The thread.', schema: dataOf(ThreadRecord) } },
  errors: ['forbidden'],
  async handle({ tools, principal, query, thread: { thread_id } }) {
    const profile = chooseProfile(tools.catalog, principal, query.profile);
    const record =
      query.load_messages.toLowerCase() === 'true'
        ? await tools.threads.get(thread_id, {
            reader: readerOf(principal),
            queued: query.queued.toLowerCase() === 'true',
          })
        : await tools.threads.getBare(thread_id);
    return data(shownRecord(record, profile));
  },
});

export const readThreadDelta = defineThreadRoute({
  operation: 'readThreadDelta',
  method: 'GET',
  path: '/v1/ai/threads/{thread_id}/delta',
  summary: 'What changed since the token was given: blocks of a known message are appended to it.',
  access: 'threads:read',
  use: 'read',
  query: z.strictObject({ next_token: z.string(), profile }),
  replies: { 200: { description: 'The changes, and the next token.', schema: dataOf(ThreadDelta) } },
  errors: ['forbidden'],
  async handle({ tools, principal, query, thread: { thread_id } }) {
    const profile = chooseProfile(tools.catalog, principal, query.profile);
    const reader = readerOf(principal);
    return data(shownDelta(await tools.threads.delta(thread_id, query.next_token, { reader }), profile));
  },
});

export const listThreads = defineRoute({
  operation: 'listThreads',
  method: 'GET',
  path: '/v1/ai/threads',
  summary:
    'The threads that you may read, the latest first. A page may hold fewer than asked for: go on while there is a next_token. One that was just started may not be there yet.',
  access: 'threads:read',
  query: ThreadQuery,
  replies: { 200: { description: 'A page of threads.', schema: dataPageOf(ListedThread) } },
  async handle({ tools, principal, query }) {
    const { headers, next_token } = await visibleThreads(tools, principal, query);
    const profile = chooseProfile(tools.catalog, principal, undefined);
    return dataPage(
      headers.map((header) => listedThread(shownHeader(header, profile), readerOf(principal))),
      next_token ?? null,
    );
  },
});

export const searchThreads = defineRoute({
  operation: 'searchThreads',
  method: 'POST',
  path: '/v1/ai/threads/search',
  summary:
    'The threads that you may read and that fit all of what is asked for, the latest first. A page may hold fewer than asked for, or none: go on while there is a next_token.',
  access: 'threads:read',
  body: ThreadSearch,
  replies: { 200: { description: 'A page of threads.', schema: dataPageOf(ListedThread) } },
  async handle({ tools, principal, body: { title, visibility, limit, ...asked } }) {
    const given = Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== null));
    const { headers, next_token } = await visibleThreads(tools, principal, {
      ...given,
      limit: limit == null ? undefined : String(limit),
    });
    const profile = chooseProfile(tools.catalog, principal, undefined);
    const found = headers
      .map((header) => shownHeader(header, profile))
      .filter(
        (header) =>
          (visibility ?? header.record.visibility) === header.record.visibility &&
          (header.title ?? '').toLowerCase().includes((title ?? '').toLowerCase()),
      );
    return dataPage(
      found.map((header) => listedThread(header, readerOf(principal))),
      next_token ?? null,
    );
  },
});
