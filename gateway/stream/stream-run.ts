/** A run, or a tree of runs, as a streaming response in a dialect. Refusals are thrown, before anything is sent. */
import type { Runs } from '../../client/index.js';
import { isPerdureError, PerdureError } from '../../contract/errors.js';
import type { StreamEvent } from '../../contract/live-events.js';
import { resolveProfile } from '../../contract/profiles.js';
import type { ProfileName, StreamProfile, StreamProfileInput } from '../../contract/profiles.js';
import { TAIL_SEQ_HEADER } from '../../contract/stream-lines.js';
import type { Dialect } from '../../dialects/dialect.js';
import { DIALECTS } from '../../dialects/index.js';
import { addressFiles } from '../artefact-url.js';
import { createFrame } from './frame.js';
import { findStart } from './find-start.js';
import { readLineCursor } from './line-cursor.js';
import { linesOf } from './lines-of.js';
import { readOptions } from './read-options.js';
import type { StreamRequest } from './read-options.js';
import { createBody } from './response-body.js';
import { createTeller } from './teller.js';

export interface StreamContext {
  runs: Runs;
  runId: string;
  /** All query parameters. */
  query: URLSearchParams;
  headers: Headers;
  /** Aborts when the client goes away. */
  signal: AbortSignal;
  /** The resolved profile that the principal may see. */
  profile: ProfileName | StreamProfileInput;
  now?: () => number;
  heartbeatMs?: number;
  /** The gateway is going away itself: then no reader has left. */
  isStopping?(): boolean;
  onOpen?(): void;
  onClose?(): void;
  /** For the log: why a stream was cut, or a run not canceled when its reader left. The reader cannot be told. */
  onFailure?(error: unknown): void;
}

export type Dialects = Readonly<Record<string, Dialect<unknown>>>;

const HEARTBEAT_MS = 15_000;

export async function streamRun(context: StreamContext, dialects: Dialects = DIALECTS): Promise<Response> {
  const { runs, runId, query, headers, signal } = context;
  const { request, dialect } = readRequest(query, headers, dialects);
  const profile = profileOf(context.profile, request);
  const now = context.now ?? Date.now;
  const begin = (id: string) => {
    const options = { commit: request.commit, nested: id !== runId, clock: now };
    return dialect.begin(options);
  };
  const start = await findStart({ runs, runId, request, dialect, begin, profile, signal });
  const { stream, point, states, tail, ended } = start;
  const tree = profile.children === 'flattened' ? () => stream.cursor() : undefined;
  const teller = createTeller({ runId, dialect, begin, point, states, tree });
  const frame = createFrame(request);
  // Of the dialects it alone has a field for it that is not the log's own.
  const dress =
    dialect.name === 'event_contract' ? addressFiles(profile, query.get('profile')) : (event: StreamEvent) => event;
  const source = linesOf({ runId, request, stream, teller, dress, frame, tree, ended });
  const body = createBody({
    source,
    heartbeat: frame.heartbeat,
    heartbeatMs: context.heartbeatMs ?? HEARTBEAT_MS,
    now,
    onCancel: left,
    onEnd(error) {
      signal.removeEventListener('abort', aborted);
      void stream.return?.();
      if (error !== undefined) context.onFailure?.(error);
      context.onClose?.();
    },
  });

  function left(): void {
    if (!request.cancelOnDisconnect || context.isStopping?.() === true) return;
    const note = 'the reader disconnected, and had asked for this';
    runs.cancel(runId, { reason: 'user_requested', note }).catch((error: unknown) => {
      // It ended by itself in the meantime.
      if (!(isPerdureError(error) && error.code === 'run_ended')) context.onFailure?.(error);
    });
  }
  function aborted(): void {
    body.abandon(signal.reason);
  }
  context.onOpen?.();
  signal.addEventListener('abort', aborted, { once: true });
  if (signal.aborted) aborted();
  return new Response(body.readable, { headers: responseHeaders(frame.contentType, tail) });
}

/** What cannot be told is refused before there is a run to tell of. One that is yet to begin has nothing to resume. */
export function checkAsked(
  { query, headers, profile: given }: Pick<StreamContext, 'query' | 'headers' | 'profile'>,
  runId: string | undefined,
): void {
  const { request } = readRequest(query, headers);
  const { from } = request;
  const { children } = profileOf(given, request);
  if (runId === undefined && ('cursor' in from || from.seq > 0)) {
    const why = 'the run begins with this request, so its stream begins at 0';
    throw new PerdureError('invalid_request', `from: ${why}`, { issues: [{ path: 'from', message: why }] });
  }
  if (runId !== undefined && 'cursor' in from) readLineCursor(from.cursor, runId, children === 'flattened');
}

function readRequest(query: URLSearchParams, headers: Headers, dialects: Dialects = DIALECTS) {
  const request = readOptions(query, headers);
  return { request, dialect: dialectOf(dialects, request.dialect) };
}

function dialectOf(dialects: Dialects, name: string): Dialect<unknown> {
  const dialect = Object.hasOwn(dialects, name) ? dialects[name] : undefined;
  if (dialect !== undefined) return dialect;
  const names = Object.keys(dialects).join(', ');
  throw new PerdureError('invalid_request', `dialect: there is no dialect "${name}", only ${names}`);
}

/** A reader may ask for less of child runs than its profile shows, or for their events where it shows the links. */
function profileOf(given: StreamContext['profile'], { children }: StreamRequest): StreamProfile {
  const profile = resolveProfile(given);
  if (children === undefined || children === profile.children) return profile;
  if (profile.children === 'invisible') {
    throw new PerdureError('invalid_request', `children: the profile of this stream does not show child runs`);
  }
  return resolveProfile({ ...profile, children });
}

function responseHeaders(contentType: string, tail: number | undefined): Record<string, string> {
  return {
    'Content-Type': contentType,
    'Cache-Control': 'no-store',
    // Or a proxy would keep lines back until it has a bufferful.
    'X-Accel-Buffering': 'no',
    // Said, or the server reads the first chunks before it answers, and ends cleanly where one of them fails.
    'Transfer-Encoding': 'chunked',
    ...(tail === undefined ? {} : { [TAIL_SEQ_HEADER]: String(tail - 1) }),
  };
}
