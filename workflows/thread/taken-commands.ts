/** Commands that were taken already: the same one, sent again after continue-as-new, is not a second one. */
import type { SendAnswer } from '../../contract/thread-commands.js';
import { TAKEN_KEPT } from './thread-state.js';
import type { Thread } from './thread-state.js';

export function answeredBefore(thread: Thread, id: string | undefined): SendAnswer | undefined {
  return thread.taken.find(([taken]) => taken === id)?.[1] ?? undefined;
}

export function once(thread: Thread, id: string | undefined, effect: () => SendAnswer): SendAnswer {
  const known = answeredBefore(thread, id);
  if (known !== undefined) return known;
  const answer = effect();
  note(thread, id, answer);
  return answer;
}

export function note(thread: Thread, id: string | undefined, answer: SendAnswer | null): void {
  if (id === undefined) return;
  thread.taken.push([id, answer]);
  if (thread.taken.length > 2 * TAKEN_KEPT) thread.taken.splice(0, TAKEN_KEPT);
}

export function isTaken(thread: Thread, id: string | undefined): boolean {
  return thread.taken.some(([taken]) => taken === id);
}

export function unlessTaken(thread: Thread, id: string | undefined, check: () => void): void {
  if (!isTaken(thread, id)) check();
}
