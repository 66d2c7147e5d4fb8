/** The requests that their senders may repeat: see `contract/request-mark.ts`. */
import { isMark, isRepeatOf, isSeen } from '../../contract/request-mark.js';
import type { Acknowledgement, RequestMark } from '../../contract/request-mark.js';
import type { SendAnswer } from '../../contract/thread-commands.js';
import type { Thread } from './thread-state.js';

const MOST_UNSEEN = 200;

/** What was answered to the request that this one repeats, if it does. */
export function answerBefore(thread: Thread, mark: RequestMark | undefined): SendAnswer | undefined {
  if (mark === undefined) return undefined;
  return thread.unseen.find((unseen) => isRepeatOf(unseen, mark, mark.at ?? Date.now()))?.answer;
}

export function noteUnseen(thread: Thread, mark: RequestMark | undefined, answer: SendAnswer): void {
  if (mark === undefined) return;
  const { by, digest } = mark;
  // Whoever writes to the thread knows of it.
  const others = thread.unseen.filter(
    (unseen) => unseen.by !== by || (unseen.answer !== undefined && unseen.digest !== digest),
  );
  const shown = answer.state === 'queued' ? {} : { counter: thread.counter };
  thread.unseen = [...others, { by, digest, at: mark.at ?? Date.now(), answer, ...shown }].slice(-MOST_UNSEEN);
}

/** A message that has waited is in the record now. */
export function showUnseen(thread: Thread, mark: RequestMark | undefined): void {
  const waiting = thread.unseen.find(
    (unseen) => unseen.by === mark?.by && unseen.digest === mark.digest && unseen.counter === undefined,
  );
  if (waiting !== undefined) waiting.counter = thread.counter;
}

/** Anyone can send a signal, so its shape is not taken for granted. */
export function acknowledge(thread: Thread, acknowledgement: Acknowledgement | undefined): void {
  const { by, counter } = acknowledgement ?? {};
  if (typeof by !== 'string' || typeof counter !== 'number') return;
  thread.unseen = thread.unseen.filter((unseen) => !isSeen(unseen, { by, counter }));
}

/** The request that starts a thread. */
export function unseenStart(mark: unknown): Thread['unseen'] {
  return isMark(mark) ? [{ by: mark.by, digest: mark.digest, at: mark.at ?? Date.now(), counter: 1 }] : [];
}
