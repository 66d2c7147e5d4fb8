/** The requests that their senders may repeat: see `contract/request-mark.ts`. */
import { isMark, isRepeatOf, isSeen, pauseKey } from '../../contract/request-mark.js';
import type { Acknowledgement, RequestMark } from '../../contract/request-mark.js';
import type { OpenPause, SendAnswer } from '../../contract/thread-commands.js';
import { turnRunId } from '../../contract/thread-ids.js';
import type { Thread } from './thread-state.js';

const MOST_UNSEEN = 200;

/** What was answered to the request that this one repeats, if it does. */
export function answerBefore(thread: Thread, mark: RequestMark | undefined): SendAnswer | undefined {
  if (mark === undefined) return undefined;
  return thread.unseen.find((unseen) => isRepeatOf(unseen, mark, mark.at ?? Date.now()))?.answer;
}

/** `question` is the one that it may have answered. */
export function noteUnseen(
  thread: Thread,
  mark: RequestMark | undefined,
  answer: SendAnswer,
  question: OpenPause | undefined,
): void {
  if (mark === undefined) return;
  const { by, digest } = mark;
  // Whoever writes to the thread knows of it.
  const others = thread.unseen.filter(
    (unseen) => unseen.by !== by || (unseen.answer !== undefined && unseen.digest !== digest),
  );
  const shown = answer.state === 'queued' ? {} : { counter: thread.counter, run_id: answer.run_id };
  const pause = answer.state !== 'answered' || question === undefined ? {} : { pause: pauseKey(question) };
  thread.unseen = [...others, { by, digest, at: mark.at ?? Date.now(), answer, ...shown, ...pause }].slice(
    -MOST_UNSEEN,
  );
}

/** A message that has waited is in the record now, and begins the turn of that run, or none. */
export function showUnseen(thread: Thread, mark: RequestMark | undefined, run_id?: string): void {
  const waiting = thread.unseen.find(
    (unseen) => unseen.by === mark?.by && unseen.digest === mark.digest && unseen.counter === undefined,
  );
  if (waiting === undefined) return;
  Object.assign(waiting, { counter: thread.counter, ...(run_id === undefined ? {} : { run_id }) });
}

/** Anyone can send a signal, so its shape is not taken for granted. */
export function acknowledge(thread: Thread, acknowledgement: Acknowledgement | undefined): void {
  const { by, counter } = acknowledgement ?? {};
  if (typeof by !== 'string' || typeof counter !== 'number') return;
  thread.unseen = thread.unseen.filter((unseen) => !isSeen(unseen, { by, counter }));
}

/** The request that starts a thread, and its first turn. */
export function unseenStart(threadId: string, mark: unknown): Thread['unseen'] {
  if (!isMark(mark)) return [];
  const { by, digest, at = Date.now() } = mark;
  return [{ by, digest, at, counter: 1, run_id: turnRunId(threadId, 1) }];
}
