/** `GET /v1/runs/{run_id}/events`: the stream itself is made in `gateway/stream/`. */
import { z } from 'zod';
import { checkMayCancel } from '../own-run.js';
import { checkScope, chooseProfile, orgOf } from '../principal.js';
import { defineRunRoute } from '../route.js';
import { checkAsked, streamRun } from '../stream/stream-run.js';
import { takePlace } from './stream-place.js';
import type { StreamCall } from './stream-place.js';

export const STREAM_TYPES = ['application/x-ndjson', 'text/event-stream'];

function word(about: string) {
  return z.string().optional().describe(about);
}

/** What each takes is checked by the stream. */
export const STREAM_QUERY = z.strictObject({
  profile: word('What is shown of each event: a stream profile that the credential may ask for; its first if absent.'),
  format: word('`ndjson` or `sse`; if absent by `Accept`, and NDJSON in doubt.'),
  dialect: word('The words in which events are told; `perdure` if absent.'),
  from: word('Where to begin: a `seq`, `-n` from the end, or a cursor.'),
  children: word('What is shown of child runs: `invisible`, `linked` or `flattened`.'),
  follow: word('`false`: what is in the log now, and no more.'),
  commit: word('`true`: only committed text, no live pieces.'),
  trailer: word(
    '`true`: NDJSON also has lines of the transport, with the field `perdure`: warnings, and how the stream ended. ' +
      'Without it there is no line that the dialect does not know; with `envelope=true` it is the default.',
  ),
  envelope: word('`true`: each line with its cursor and whose it is, as `{ cursor, run_id, …, data }`.'),
  on_disconnect: word('`cancel`: the run is canceled when this reader goes away before its end.'),
});

export const streamEvents = defineRunRoute({
  operation: 'streamEvents',
  method: 'GET',
  path: '/v1/runs/{run_id}/events',
  summary: 'The events of a run, as they come.',
  access: 'runs:read',
  streams: true,
  headers: { 'Last-Event-ID': 'Where a stream was left, as browsers send it.' },
  query: STREAM_QUERY,
  replies: { 200: { description: 'One line or one event each.', types: STREAM_TYPES } },
  errors: ['forbidden', 'too_many_streams'],
  handle({ tools, principal, request, search, query, run }) {
    const profile = chooseProfile(tools.catalog, principal, query.profile);
    // To leave is then a cancel, and takes whoever may send one.
    if (query.on_disconnect === 'cancel') {
      checkScope(principal, 'runs:cancel');
      checkMayCancel(principal, run.record);
    }
    const { run_id } = run;
    const org = orgOf(principal, run.record);
    return openStream({ tools, principal, request, search, profile, org }, run_id, () => Promise.resolve(run_id));
  },
});

export function wantsStream(asked: 'true' | 'false' | undefined, headers: Headers): boolean {
  if (asked !== undefined) return asked === 'true';
  const accepted = headers.get('accept') ?? '';
  return STREAM_TYPES.some((type) => accepted.toLowerCase().includes(type));
}

/** What is asked is checked and the place is taken before the run is started: what cannot be shown is not begun. */
export async function openStream(
  call: StreamCall,
  /** The run, where it may be there already. */
  known: string | undefined,
  runIdOf: () => Promise<string>,
): Promise<Response> {
  const { tools, request, search, profile } = call;
  checkAsked({ query: search, headers: request.headers, profile }, known);
  return takePlace(call, async (context) => {
    const runId = await runIdOf();
    const onFailure = (error: unknown) => tools.streamFailed(runId, error);
    return streamRun({ ...context, runs: tools.runs, runId, onFailure });
  });
}
