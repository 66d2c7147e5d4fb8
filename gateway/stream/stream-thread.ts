/** A thread as a streaming response in a dialect: its turns, and those to come. Refusals are thrown before that. */
import type { Runs, Threads } from '../../client/index.js';
import { firstTurn, tooFar } from '../../client/threads/thread-stream.js';
import { DIALECTS } from '../../dialects/index.js';
import { createAcknowledgeTold } from './acknowledge-told.js';
import { createFrame } from './frame.js';
import { respond } from './respond.js';
import type { ReaderContext } from './respond.js';
import type { StreamRequest } from './read-options.js';
import { resolveRequest } from './stream-request.js';
import type { Asked, Dialects } from './stream-request.js';
import { createThreadLines } from './thread-lines.js';
import { beginningOf, readTurnCursor } from './turn-cursor.js';
import type { TurnPlace } from './turn-cursor.js';

export interface ThreadStreamContext extends ReaderContext, Asked {
  runs: Runs;
  threads: Threads;
  threadId: string;
  /** Who reads, where it is one who may send messages. */
  reader?: string | undefined;
}

export async function streamThread(context: ThreadStreamContext, dialects: Dialects = DIALECTS): Promise<Response> {
  const { runs, threads, threadId, now = Date.now } = context;
  const resolved = resolveRequest(context, dialects);
  const { request } = resolved;
  const frame = createFrame(request);
  const turns = threads.turns(threadId);
  const closing = new AbortController();
  const close = () => {
    closing.abort();
    turns.close();
  };
  try {
    const count = await turns.count();
    const place = placeOf(request.from, threadId, count);
    const signal = AbortSignal.any([context.signal, closing.signal]);
    const { reader, onFailure = () => {} } = context;
    const acknowledge =
      reader === undefined ? undefined : createAcknowledgeTold({ threads, threadId, reader, count, onFailure });
    const source = createThreadLines({ ...resolved, runs, threadId, turns, place, frame, signal, now, acknowledge });
    await source.begin();
    return respond(context, {
      source,
      frame,
      cancel: request.cancelOnDisconnect ? () => threads.cancel(threadId) : undefined,
      close() {
        source.close();
        close();
      },
    });
  } catch (error) {
    close();
    throw error;
  }
}

function placeOf(from: StreamRequest['from'], threadId: string, count: number): TurnPlace {
  if ('seq' in from) return beginningOf(firstTurn(threadId, from.seq, count));
  const place = readTurnCursor(from.cursor);
  if (place.turn > count + 1 || (place.turn > count && (place.line !== undefined || place.isMarkerRead))) {
    throw tooFar('cursor', threadId, count);
  }
  return place;
}
