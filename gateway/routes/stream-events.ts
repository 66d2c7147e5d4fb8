/** `GET /v1/runs/{run_id}/events`: the stream itself is made in `gateway/stream/`. */
import { z } from 'zod';
import { checkMayCancel } from '../own-run.js';
import { chooseProfile } from '../principal.js';
import { defineRunRoute } from '../route.js';
import { checkAsked, streamRun } from '../stream/stream-run.js';
import { takePlace } from './stream-place.js';
import type { StreamCall } from './stream-place.js';

export const STREAM_TYPES = ['application/x-ndjson', 'text/event-stream'];

/** What each takes is checked by the stream. */
export const STREAM_QUERY = z.strictObject({
  profile: z.string().optional(),
  format: z.string().optional(),
  dialect: z.string().optional(),
  from: z.string().optional(),
  children: z.string().optional(),
  follow: z.string().optional(),
  commit: z.string().optional(),
  trailer: z.string().optional(),
  envelope: z.string().optional(),
  on_disconnect: z.string().optional(),
});

export const streamEvents = defineRunRoute({
  operation: 'streamEvents',
  method: 'GET',
  path: '/v1/runs/{run_id}/events',
  summary: 'The events of a run, as they come.',
  access: 'member',
  streams: true,
  headers: { 'Last-Event-ID': 'Where a stream was left, as browsers send it.' },
  query: STREAM_QUERY,
  replies: { 200: { description: 'One line or one event each.', types: STREAM_TYPES } },
  errors: ['forbidden', 'too_many_streams'],
  handle({ tools, principal, request, search, query, run }) {
    const profile = chooseProfile(principal, query.profile);
    // To leave is then a cancel, and takes whoever may send one.
    if (query.on_disconnect === 'cancel') checkMayCancel(principal, run.record);
    const { run_id } = run;
    return openStream({ tools, principal, request, search, profile }, run_id, () => Promise.resolve(run_id));
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
