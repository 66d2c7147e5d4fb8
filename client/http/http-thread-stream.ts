/** The events of a thread through a gateway: those of its turns, one after another, over any number of connections. */
import { PerdureError } from '../../contract/errors.js';
import type { ThreadStreamEnd, TurnEnd } from '../../contract/stream-lines.js';
import type { ThreadEvent } from '../../contract/thread-events.js';
import { markerOf, openEvents, profileName } from './http-stream.js';
import type { EventStream, HttpStreamContext, HttpStreamOptions } from './http-stream.js';

export interface HttpThreadStreamOptions extends Omit<HttpStreamOptions, 'from'> {
  /** The first turn, from 1; negative counts from the last one (-1); the first by default. */
  from?: number;
}

export type HttpThreadStream = EventStream<ThreadEvent>;

export function openHttpThreadStream(
  context: HttpStreamContext,
  threadId: string,
  options: HttpThreadStreamOptions = {},
): HttpThreadStream {
  const { from, cursor, follow, children, signal, onWarning } = options;
  if (from !== undefined && cursor !== undefined) {
    throw new PerdureError('invalid_request', 'from and cursor: give one of them');
  }
  return openEvents<ThreadEvent>(context, {
    path: `/v1/threads/${encodeURIComponent(threadId)}/events`,
    query: { dialect: 'perdure', profile: profileName(options.profile), children, follow },
    cursor: cursor ?? (from === undefined ? undefined : String(from)),
    signal,
    onWarning,
    aside: (line, last) => (line.perdure === 'turn_ended' ? ofTurn(line, last) : ofThread(line)),
  });
}

function ofTurn(end: TurnEnd, last: ThreadEvent | undefined): ThreadEvent | undefined {
  return last?.type === 'stream_ended' ? undefined : markerOf(end);
}

function ofThread(end: ThreadStreamEnd | { perdure: 'end'; run_id: string }): ThreadEvent | undefined {
  if (!('thread_id' in end) || end.reason === 'tail') return undefined;
  const { thread_id, reason, message } = end;
  return { type: 'thread_ended', thread_id, reason, message };
}
