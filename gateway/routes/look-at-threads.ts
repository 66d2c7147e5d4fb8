/** `GET /v1/threads` and `GET /v1/threads/{thread_id}`: what threads there are and whose turn it is, without messages. */
import { summarizeThread, ThreadState, threadState } from '../../contract/thread-summary.js';
import { chooseProfile } from '../principal.js';
import { defineRoute, defineThreadRoute } from '../route.js';
import { shownHeader } from '../shapes/thread-answers.js';
import { ThreadSummaryPage, ThreadSummaryQuery } from '../shapes/thread-list.js';
import { visibleThreads } from '../visible-threads.js';

export const listThreadSummaries = defineRoute({
  operation: 'listThreadSummaries',
  method: 'GET',
  path: '/v1/threads',
  summary:
    'The threads that you may read, newest first. A page may hold fewer than asked for: go on while there is a next_cursor. One that was just started may not be there yet.',
  access: 'threads:read',
  query: ThreadSummaryQuery,
  replies: { 200: { description: 'A page of threads.', schema: ThreadSummaryPage } },
  async handle({ tools, principal, query: { cursor, ...query } }) {
    const { headers, next_token } = await visibleThreads(tools, principal, { ...query, page_token: cursor });
    const profile = chooseProfile(tools.catalog, principal, undefined);
    const next = next_token === undefined ? {} : { next_cursor: next_token };
    return Response.json({ threads: headers.map((header) => summarizeThread(shownHeader(header, profile))), ...next });
  },
});

export const readThreadSummary = defineThreadRoute({
  operation: 'readThreadSummary',
  method: 'GET',
  path: '/v1/threads/{thread_id}',
  summary: 'Where a thread stands: whose turn it is, and the run of the turn that is going on.',
  access: 'threads:read',
  use: 'read',
  replies: { 200: { description: 'The thread, without messages.', schema: ThreadState } },
  async handle({ tools, principal, thread: { thread_id } }) {
    const header = await tools.threads.header(thread_id);
    return Response.json(threadState(shownHeader(header, chooseProfile(tools.catalog, principal, undefined))));
  },
});
