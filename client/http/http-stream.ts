/** The events of a run, or of a tree of runs, through a gateway: one iterator over any number of connections. */
import { PerdureError } from '../../contract/errors.js';
import type { StreamEvent } from '../../contract/live-events.js';
import type { ChildStreams, ProfileName } from '../../contract/profiles.js';
import type { Ending, StreamEnvelope, StreamWarning } from '../../contract/stream-lines.js';
import { readText } from '../../dialects/read-text.js';
import type { GatewayCalls, Query } from './gateway-calls.js';
import { resumedLines } from './resumed-lines.js';
import type { ReconnectOptions, StreamLine } from './resumed-lines.js';

export interface HttpStreamOptions {
  /** The first `seq`; negative counts from the end; 0 by default. Of one run: a flattened stream takes a cursor. */
  from?: number;
  /** Where another stream of this run was left: its `cursor()`. */
  cursor?: string;
  /** False: only what is in the log now. */
  follow?: boolean;
  /** The name of a profile that the token may ask for; the first of these if absent. */
  profile?: ProfileName | (string & {});
  /** What is shown of child runs, where the profile allows it. */
  children?: ChildStreams;
  signal?: AbortSignal;
  /** What the gateway says beside the events: something of the stream is missing. */
  onWarning?(message: string, runId: string): void;
}

export interface EventStream<E> extends AsyncIterableIterator<E> {
  /** Where to resume: after the last event delivered. Of streams over HTTP only. */
  cursor(): string;
}

export interface HttpRunStream extends EventStream<StreamEvent> {
  /** The run's own text, as it is said, to be printed: in the place of the events. */
  text(): AsyncIterableIterator<string>;
}

export interface HttpStreamContext extends ReconnectOptions {
  calls: GatewayCalls;
  closing: AbortSignal;
}

export function openHttpStream(
  context: HttpStreamContext,
  runId: string,
  options: HttpStreamOptions = {},
): HttpRunStream {
  const { follow, children, signal, onWarning } = options;
  const events = openEvents<StreamEvent>(context, {
    path: `/v1/runs/${encodeURIComponent(runId)}/events`,
    query: { dialect: 'perdure', profile: profileName(options.profile), children, follow },
    cursor: cursorOf(options),
    signal,
    onWarning,
    aside: (line, last) => (last?.type === 'stream_ended' || !('run_id' in line) ? undefined : markerOf(line)),
  });
  return { ...events, text: () => readText(events, runId) };
}

export function cursorOf({ from, cursor }: HttpStreamOptions): string | undefined {
  if (from !== undefined && cursor !== undefined) {
    throw new PerdureError('invalid_request', 'from and cursor: give one of them');
  }
  return cursor ?? (from === undefined ? undefined : String(from));
}

/** Beside the events: how a turn, a run or a thread ended, or how far it was read. */
export type Aside = Exclude<StreamLine, StreamEnvelope | StreamWarning>;

interface EventsRequest<E> {
  path: string;
  query: Query;
  cursor: string | undefined;
  signal: AbortSignal | undefined;
  onWarning: HttpStreamOptions['onWarning'];
  /** What the reader is told of it, after the event that came last. */
  aside(line: Aside, last: E | undefined): E | undefined;
}

/** Any stream of events, from a cursor on. */
export function openEvents<E>(
  { calls, closing, ...reconnect }: HttpStreamContext,
  { path, query, signal, onWarning, aside, ...begin }: EventsRequest<E>,
): EventStream<E> {
  let { cursor } = begin;
  const leaving = new AbortController();
  const leave = () => leaving.abort();
  for (const each of [closing, signal]) {
    each?.addEventListener('abort', leave, { once: true });
    if (each?.aborted === true) leave();
  }

  async function* events(): AsyncGenerator<E, undefined> {
    let last: E | undefined;
    try {
      const lines = resumedLines({ ...reconnect, calls, path, query, cursor: () => cursor, signal: leaving.signal });
      for await (const line of lines) {
        if (!('perdure' in line)) {
          last = line.data as E;
          cursor = line.cursor;
          yield last;
        } else if (line.perdure === 'warning') onWarning?.(line.message, line.run_id);
        else {
          cursor = line.cursor;
          const told = aside(line, last);
          if (told !== undefined) yield told;
        }
      }
    } finally {
      for (const each of [closing, signal]) each?.removeEventListener('abort', leave);
    }
  }

  const iterator = events();
  const stream: EventStream<E> = {
    cursor: () => cursor ?? '0',
    next: () => iterator.next(),
    return() {
      leave();
      return iterator.return(undefined);
    },
    [Symbol.asyncIterator]: () => stream,
  };
  return stream;
}

/** Where the engine ended the run, the reader is told, whether the dialect had words for it or not. */
export function markerOf(end: { run_id: string } & Ending): StreamEvent | undefined {
  if (end.reason === 'completed' || end.reason === 'tail') return undefined;
  return { type: 'stream_ended', run_id: end.run_id, reason: end.reason, message: end.message };
}

export function profileName(profile: HttpStreamOptions['profile']): string | undefined {
  if (profile === undefined || typeof profile === 'string') return profile;
  const what = 'profile: a gateway takes the name of one that it has, and none of your own';
  throw new PerdureError('invalid_request', what);
}
