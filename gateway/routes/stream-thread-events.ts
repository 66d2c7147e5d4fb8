/** `GET /v1/threads/{thread_id}/events`: all turns of a thread as one stream, which stays open between them. */
import { checkMayWrite, mayWrite } from '../own-thread.js';
import { checkScope, chooseProfile, orgOf } from '../principal.js';
import { readerOf } from '../repeats.js';
import { defineThreadRoute } from '../route.js';
import { streamThread } from '../stream/stream-thread.js';
import { STREAM_QUERY, STREAM_TYPES } from './stream-events.js';
import { takePlace } from './stream-place.js';

export const streamThreadEvents = defineThreadRoute({
  operation: 'streamThreadEvents',
  method: 'GET',
  path: '/v1/threads/{thread_id}/events',
  summary: 'The events of a thread: of its turns, one after another, as they come.',
  access: 'threads:read',
  use: 'read',
  streams: true,
  headers: { 'Last-Event-ID': 'Where a stream was left, as browsers send it.' },
  query: STREAM_QUERY,
  replies: { 200: { description: 'One line or one event each.', types: STREAM_TYPES } },
  errors: ['forbidden', 'too_many_streams'],
  handle({ tools, principal, request, search, query, thread }) {
    const profile = chooseProfile(tools.catalog, principal, query.profile);
    // To leave is then a cancel of the turn, and takes whoever may send one.
    if (query.on_disconnect === 'cancel') {
      checkScope(principal, 'threads:write');
      checkMayWrite(principal, thread);
    }
    const { runs, threads, streamFailed } = tools;
    const { thread_id: threadId } = thread;
    const onFailure = (error: unknown) => streamFailed(threadId, error);
    const reader = mayWrite(principal, thread) ? readerOf(principal) : undefined;
    const org = orgOf(principal, { org_id: thread.owner.org_id ?? undefined });
    return takePlace({ tools, principal, request, search, profile, org }, (context) =>
      streamThread({ ...context, runs, threads, threadId, onFailure, reader }),
    );
  },
});
