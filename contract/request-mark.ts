/**
 * How a request is known again when it is repeated: by clients that send it once more after a cut connection, byte for
 * byte and without a key. Digests only, so that nobody's name or words are in it. No zod here.
 *
 * M1  Until its sender has read what a request did, and for some minutes at most, the same request is a repeat: it is
 *     answered as the first time, and does nothing.
 * M2  From then on the same words are a new request.
 */
import type { StreamEvent } from './live-events.js';
import type { SendAnswer } from './thread-commands.js';

export interface RequestMark {
  /** Who sent it. */
  by: string;
  /** Where to, and what. */
  digest: string;
  /** When it was sent, in milliseconds: what a thread does must not depend on its own clock, which a replay may see otherwise. */
  at?: number | undefined;
}

/** A request whose sender has not read what it did. */
export interface UnseenRequest extends RequestMark {
  /** When it came, in milliseconds. */
  at: number;
  /** The thread's counter when there was something of it to read; absent: it still waits for its turn. */
  counter?: number;
  /** Absent: it is the one that started the thread. */
  answer?: SendAnswer;
  /** The turn that it began, or was said to; absent while it waits for its turn. Since 0.8. */
  run_id?: string;
  /** The pause that it answered: the run that asked, and its name for it. Since 0.8. */
  pause?: string;
}

/** From a reader: it has seen everything up to this counter. */
export interface Acknowledgement {
  by: string;
  counter: number;
}

/** A pause, in a word. */
export function pauseKey({ run_id, await_id }: { run_id: string; await_id: string }): string {
  return `${run_id} ${await_id}`;
}

/**
 * Whether an event shows what became of a request: the end of the pause that it answered, or of the turn. Nothing less
 * will do: an event that is told again, to a reader that comes back, must not pass for news of what was said since.
 */
export function isShownBy({ run_id, pause }: UnseenRequest, event: StreamEvent): boolean {
  if (event.type === 'run_completed' || event.type === 'stream_ended') return run_id === event.run_id;
  if (event.type === 'await_resolved') return pause === pauseKey(event);
  if (event.type !== 'child_await_changed' || event.state !== 'resolved') return false;
  return pause === pauseKey({ run_id: event.link.run_id, await_id: event.await_id });
}

/** Longer than any client goes on trying. */
export const REPEATS_WITHIN_MS = 600_000;

export function isMark(value: unknown): value is RequestMark {
  const { by, digest, at = 0 } = (typeof value === 'object' && value !== null ? value : {}) as Partial<RequestMark>;
  return typeof by === 'string' && typeof digest === 'string' && typeof at === 'number';
}

export function isRepeatOf(unseen: UnseenRequest, mark: RequestMark, now: number): boolean {
  return unseen.by === mark.by && unseen.digest === mark.digest && now - unseen.at < REPEATS_WITHIN_MS;
}

/** Whether a reader that sees the thread as it is at this counter sees something of its own for the first time. */
export function isNews(unseen: readonly UnseenRequest[], { by, counter }: Acknowledgement): boolean {
  return unseen.some((request) => isSeen(request, { by, counter }));
}

export function isSeen(request: UnseenRequest, { by, counter }: Acknowledgement): boolean {
  return request.by === by && request.counter !== undefined && request.counter <= counter;
}
