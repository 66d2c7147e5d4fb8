/** The events of a run, or of a tree of runs, through a gateway: one iterator over any number of connections. */
import { PerdureError } from '../../contract/errors.js';
import type { StreamEvent } from '../../contract/live-events.js';
import type { ChildStreams, ProfileName, StreamProfileInput } from '../../contract/profiles.js';
import type { StreamEnd } from '../../contract/stream-lines.js';
import type { GatewayCalls } from './gateway-calls.js';
import { resumedLines } from './resumed-lines.js';
import type { ReconnectOptions } from './resumed-lines.js';

export interface HttpStreamOptions {
  /** The first `seq`; negative counts from the end; 0 by default. Of one run: a flattened stream takes a cursor. */
  from?: number;
  /** Where another stream of this run was left: its `cursor()`. */
  cursor?: string;
  /** False: only what is in the log now. */
  follow?: boolean;
  /** The name of a profile that the token may ask for; the first of these if absent. */
  profile?: ProfileName | StreamProfileInput;
  /** What is shown of child runs, where the profile allows it. */
  children?: ChildStreams;
  signal?: AbortSignal;
  /** What the gateway says beside the events: something of the stream is missing. */
  onWarning?(message: string, runId: string): void;
}

export interface HttpRunStream extends AsyncIterableIterator<StreamEvent> {
  /** Where to resume: after the last event delivered. Of streams over HTTP only. */
  cursor(): string;
}

export interface HttpStreamContext extends ReconnectOptions {
  calls: GatewayCalls;
  closing: AbortSignal;
}

export function openHttpStream(
  { calls, closing, ...reconnect }: HttpStreamContext,
  runId: string,
  options: HttpStreamOptions = {},
): HttpRunStream {
  const { from, follow, children, signal } = options;
  if (from !== undefined && options.cursor !== undefined) {
    throw new PerdureError('invalid_request', 'from and cursor: give one of them');
  }
  const query = { dialect: 'perdure', profile: profileName(options.profile), children, follow };
  let cursor = options.cursor ?? (from === undefined ? undefined : String(from));
  const leaving = new AbortController();
  const leave = () => leaving.abort();
  for (const each of [closing, signal]) {
    each?.addEventListener('abort', leave, { once: true });
    if (each?.aborted === true) leave();
  }
  const path = `/v1/runs/${encodeURIComponent(runId)}/events`;

  async function* events(): AsyncGenerator<StreamEvent, undefined> {
    let last: StreamEvent | undefined;
    try {
      const lines = resumedLines({ ...reconnect, calls, path, query, cursor: () => cursor, signal: leaving.signal });
      for await (const line of lines) {
        if (!('perdure' in line)) {
          last = line.data as StreamEvent;
          cursor = line.cursor;
          yield last;
        } else if (line.perdure === 'end') {
          cursor = line.cursor;
          const marker = last?.type === 'stream_ended' ? undefined : markerOf(line);
          if (marker !== undefined) yield marker;
        } else options.onWarning?.(line.message, line.run_id);
      }
    } finally {
      for (const each of [closing, signal]) each?.removeEventListener('abort', leave);
    }
  }

  const iterator = events();
  return {
    cursor: () => cursor ?? '0',
    next: () => iterator.next(),
    return() {
      leave();
      return iterator.return(undefined);
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

/** Where the engine ended the run, the reader is told, whether the dialect had words for it or not. */
function markerOf(end: StreamEnd): StreamEvent | undefined {
  if (end.reason === 'completed' || end.reason === 'tail') return undefined;
  return { type: 'stream_ended', run_id: end.run_id, reason: end.reason, message: end.message };
}

function profileName(profile: HttpStreamOptions['profile']): string | undefined {
  if (profile === undefined || typeof profile === 'string') return profile;
  const what = 'profile: a gateway takes the name of one that it has, and none of your own';
  throw new PerdureError('invalid_request', what);
}
