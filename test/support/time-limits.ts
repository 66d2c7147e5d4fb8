/**
 * A run ends when its limits say so: the time in which it did not wait for people is its time budget, and what it then
 * takes to stop and to sum up. By the times of its own events, so it does not matter when anybody read them.
 */
import { expect } from 'vitest';
import type { DurableEvent } from '../../contract/events.js';

export interface TimeLimit {
  budget_ms: number;
  /** Workers are killed meanwhile. */
  kills?: boolean;
}

/**
 * On each level of a tree, what is stopped has a grace (0.5 s in tests) and 5 s more to answer for itself
 * (`workflows/settle.ts`), then a synthesis pass is made, which the scripts of these tests answer at once, or fail at in
 * some attempts a second apart. That is below 8 s; trees have three levels. As much again is for a machine that has
 * other things to do.
 */
const STOP_MS = 2 * 3 * 8_000;
/**
 * A task that dies with its worker is given to another one after 10 s, one that waits for it after 2 s, a call after the
 * 3 s of its heartbeats: 15 s for a moment in which all of them are lost. Of those a run can meet several, since its
 * worker may be killed every two seconds.
 */
const LOST_MS = 6 * 15_000;

export function endsInTime(log: readonly DurableEvent[], { budget_ms, kills = false }: TimeLimit): void {
  const most = budget_ms + STOP_MS + (kills ? LOST_MS : 0);
  expect(workedFor(log), `the time that ${log[0]?.run_id} did not wait for people`).toBeLessThanOrEqual(most);
}

/** Without the time in which anything in the run or below it waits for somebody. */
export function workedFor(log: readonly DurableEvent[]): number {
  const open = new Set<string>();
  let worked = 0;
  let before = Number.NaN;
  for (const event of log) {
    const at = Date.parse(event.at);
    if (open.size === 0 && !Number.isNaN(before)) worked += at - before;
    before = at;
    if (
      event.type === 'await_clarification' ||
      event.type === 'await_external_tools' ||
      event.type === 'await_approval'
    )
      open.add(event.await_id);
    else if (event.type === 'await_resolved') open.delete(event.await_id);
    else if (event.type === 'child_await_changed') {
      const below = `${event.link.run_id} ${event.await_id}`;
      if (event.state === 'open') open.add(below);
      else open.delete(below);
    }
  }
  return worked;
}
