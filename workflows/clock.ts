/**
 * The time budget of a run, which is ours and not the engine's: it ends in a synthesis pass. The clock stands while
 * all that is open waits for people, here or further down the tree.
 */
import { CancellationScope, sleep } from '@temporalio/workflow';
import { openAwaits } from './awaits.js';
import { timeBudget } from './budget.js';
import type { Run } from './run-state.js';
import { interrupt } from './settle.js';

export interface Clock {
  /** Called when the run may have begun or ceased to wait for people only. */
  update(): void;
  stop(): void;
}

/** Nothing is going on but waiting for people. */
export function isPaused(run: Run): boolean {
  const waiting = openAwaits(run).length > 0 || run.paused_children.size > 0;
  return waiting && run.working - run.paused_children.size <= 0;
}

export function startClock(run: Run): Clock {
  const budget = timeBudget(run);
  if (budget === undefined) return { update() {}, stop() {} };
  let timer: CancellationScope | undefined;

  function update(): void {
    const paused = isPaused(run);
    if (paused && timer !== undefined) {
      timer.cancel();
      timer = undefined;
      run.paused_at = Date.now();
    } else if (!paused && timer === undefined && !run.deadline_passed) {
      if (run.paused_at !== undefined) run.paused_ms += Date.now() - run.paused_at;
      run.paused_at = undefined;
      start();
    }
  }

  function start(): void {
    const scope = new CancellationScope();
    timer = scope;
    const left = Math.max(1, run.started_at + run.paused_ms + (budget ?? 0) - Date.now());
    scope
      .run(() => sleep(left, { summary: 'time budget' }))
      .then(
        () => {
          run.deadline_passed = true;
          interrupt(run);
        },
        () => {},
      );
  }

  if (isPaused(run)) run.paused_at ??= Date.now();
  else {
    // A pause that ended as the part before this one did.
    if (run.paused_at !== undefined) run.paused_ms += Date.now() - run.paused_at;
    run.paused_at = undefined;
    start();
  }
  return { update, stop: () => timer?.cancel() };
}
