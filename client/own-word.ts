/**
 * Tells what the channel brings of a run from what it brings of another one of the same name: of another server that
 * shares the channel, or of an earlier life of this one. The server knows the run's executions. What comes of one that it
 * has not told us of yet is held until it has been asked.
 */
import type { Origin } from '../live/channel.js';
import type { Execution } from './execution.js';

export interface OwnWord<T> {
  hear(word: T, origin: Origin | undefined): void;
  /** How much is held: to be given with what the server answers to a question that is asked now. */
  held(): number;
  know(execution: Execution, heldBefore: number): void;
}

const MOST_HELD = 1_000;

export function createOwnWord<T>(
  take: (word: T, origin: Origin | undefined) => void,
  /** The run has continued as new, most likely: ask the server. */
  onUnknown: () => void,
): OwnWord<T> {
  const own = new Set<string>();
  const foreign = new Set<string>();
  let held: { word: T; origin: Origin }[] = [];

  function hear(word: T, origin: Origin | undefined): void {
    if (origin === undefined || own.has(origin.execution)) take(word, origin);
    else if (!foreign.has(origin.execution) && held.length < MOST_HELD) {
      held.push({ word, origin });
      // Before that, it is being asked anyway.
      if (own.size > 0) onUnknown();
    }
  }

  return {
    hear,
    held: () => held.length,
    know({ runId, firstRunId }, heldBefore) {
      own.add(runId).add(firstRunId);
      const all = held;
      held = [];
      for (const [n, { word, origin }] of all.entries()) {
        // What came after the question may be of an execution that had not begun by then.
        if (n < heldBefore && !own.has(origin.execution)) foreign.add(origin.execution);
        hear(word, origin);
      }
    },
  };
}
