/**
 * A thread as one stream: the events of its turns' runs, one turn after another, for as long as the thread lives.
 *
 * S1  The events of a turn are those of its run's own stream, unchanged.
 * S2  A turn begins after the end of the one before it: its `run_completed`, or the marker in its place.
 * S3  Where the thread cannot be read from here any more, a marker in the place of the turn that was waited for is the
 *     last word, as it is where that turn's run cannot be read.
 * S4  The cursor is the position after the last event that was delivered, in whichever turn that is.
 */
import { isPerdureError, PerdureError } from '../../contract/errors.js';
import { turnRunId } from '../../contract/thread-ids.js';
import type { StreamMarker } from '../../contract/live-events.js';
import type { ThreadEvent } from '../../contract/thread-events.js';
import type { RunStream } from '../run-stream.js';
import type { StreamOptions } from '../streams.js';
import { readThreadCursor, writeThreadCursor } from './thread-cursor.js';
import type { ThreadPosition } from './thread-cursor.js';
import { mayPass } from './turn-watch.js';
import type { NextTurn, TurnReader } from './turn-watch.js';

export interface ThreadStream extends AsyncIterableIterator<ThreadEvent> {
  /** Where to resume (`stream(threadId, { cursor })`): after the last event delivered. */
  cursor(): string;
}

export interface ThreadStreamOptions extends Omit<StreamOptions, 'from' | 'cursor'> {
  /** The first turn, from 1; negative counts from the last one (-1); the first by default. */
  from?: number;
  /** Where another stream of this thread was left: its `cursor()`. */
  cursor?: string;
}

interface Sources {
  /** Closed when the stream is. */
  turns: () => TurnReader;
  stream: (runId: string, options: StreamOptions) => RunStream;
}

export function createThreadStream(
  threadId: string,
  { turns: openTurns, stream }: Sources,
  { from, cursor, follow = true, signal, ...shown }: ThreadStreamOptions,
): ThreadStream {
  if (from !== undefined && cursor !== undefined)
    throw new PerdureError('invalid_request', 'from and cursor: give one of them');
  const begin = cursor === undefined ? undefined : readThreadCursor(cursor, threadId);
  const leaving = new AbortController();
  const left = signal === undefined ? leaving.signal : AbortSignal.any([signal, leaving.signal]);
  let position: () => ThreadPosition = () => begin ?? { turn: 1 };
  let current: RunStream | undefined;
  // One listener for all turns: a stream may live for years.
  left.addEventListener('abort', () => void current?.return?.(), { once: true });
  const events = tell();

  async function* tell(): AsyncGenerator<ThreadEvent, undefined> {
    const turns = openTurns();
    try {
      yield* tellTurns(turns);
    } finally {
      turns.close();
    }
  }

  async function* tellTurns(turns: TurnReader): AsyncGenerator<ThreadEvent, undefined> {
    const count = await unlessRefused(countPatiently(turns, left), begin?.turn ?? 1);
    if (count === undefined) return undefined;
    if (typeof count !== 'number') return yield count;
    let { turn, run }: ThreadPosition = begin ?? { turn: firstTurn(threadId, from, count) };
    if (turn > count + 1) throw tooFar('cursor', threadId, count);
    position = () => (run === undefined ? { turn } : { turn, run });
    for (; ; turn++, run = undefined) {
      const next = await unlessRefused<NextTurn | undefined>(turns.turn(turn, { follow, signal: left }), turn);
      if (next === undefined) return;
      if ('type' in next) return yield next;
      if (next.state === 'ended') {
        yield next.end;
        return;
      }
      const after = { turn: turn + 1 };
      if (next.state === 'gone') {
        position = () => after;
        yield goneTurn(next.run_id);
        continue;
      }
      // A turn that is over ends by itself, and says so however it ended.
      const isFollowed = follow || !next.open;
      const ofRun = stream(next.run_id, { ...shown, ...at(run), follow: isFollowed });
      current = ofRun;
      position = () => ({ turn, run: ofRun.cursor() });
      let isOver = false;
      for await (const event of ofRun) {
        isOver = event.run_id === next.run_id && (event.type === 'run_completed' || event.type === 'stream_ended');
        if (isOver) position = () => after;
        yield event;
      }
      if (!isOver) return;
    }
  }

  async function unlessRefused<T>(reading: Promise<T>, turn: number): Promise<T | StreamMarker> {
    try {
      return await reading;
    } catch (error) {
      // What the caller got wrong is thrown.
      if (!isPerdureError(error) || mayPass(error) || error.code === 'unknown_thread') throw error;
      const { code, message } = error;
      return { type: 'stream_failed', run_id: turnRunId(threadId, turn), code, message };
    }
  }

  return {
    cursor: () => writeThreadCursor(threadId, position()),
    next: () => events.next(),
    return() {
      leaving.abort();
      void events.return(undefined);
      return Promise.resolve({ done: true, value: undefined });
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

const ASK_AGAIN_MS = 500;

/** Like a run's stream, it waits out a server or a worker that cannot be reached. Undefined: the reader is gone. */
async function countPatiently(turns: TurnReader, left: AbortSignal): Promise<number | undefined> {
  while (!left.aborted) {
    try {
      return await turns.count();
    } catch (error) {
      if (!isPerdureError(error) || !mayPass(error)) throw error;
      await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
    }
  }
  return undefined;
}

/** Of a turn whose run is not there any more. */
export function goneTurn(runId: string): Extract<StreamMarker, { type: 'stream_ended' }> {
  const message = `The log of run ${runId} is not kept any more: what was said is in the record of its thread.`;
  return { type: 'stream_ended', run_id: runId, reason: 'not_found', message };
}

/** Counted from the end where it is negative. */
export function firstTurn(threadId: string, from: number | undefined, count: number): number {
  if (from === undefined) return 1;
  if (!Number.isSafeInteger(from)) throw new PerdureError('invalid_request', 'from: must be the number of a turn');
  if (from > count + 1) throw tooFar('from', threadId, count);
  return Math.max(1, from < 0 ? count + 1 + from : from);
}

export function tooFar(what: string, threadId: string, count: number): PerdureError {
  return new PerdureError('invalid_request', `${what}: thread ${threadId} has had ${count} turns, none after them yet`);
}

function at(cursor: string | undefined): { cursor?: string } {
  return cursor === undefined ? {} : { cursor };
}
