/**
 * Waiting for an activity without letting go of the run: an interrupt (cancel, deadline) is passed on to the
 * activity, which then gets a bounded time to stop.
 */
import { CancellationScope, condition } from '@temporalio/workflow';
import type { Run } from './run-state.js';

export type Settled<T> = { state: 'done'; value: T } | { state: 'failed'; error: unknown } | { state: 'abandoned' };

/** Longer than an activity's own grace, so that one on a live worker always gets to answer for itself. */
const MARGIN_MS = 5_000;

/** For work that must not be canceled just now. */
export interface CancelGate {
  /** While `isHeld` says so, an interrupt waits for `release`. */
  hold(isHeld: () => boolean): void;
  release(): void;
}

export function interrupt(run: Run): void {
  for (const stop of run.interruptible) stop();
}

/** `patience` bounds the wait after an interrupt; a child run bounds itself, so its parent waits for its end. */
export async function settle<T>(
  run: Run,
  start: (gate: CancelGate) => Promise<T>,
  patience: 'bounded' | 'unbounded' = 'bounded',
): Promise<Settled<T>> {
  const scope = new CancellationScope();
  let settled: Settled<T> | undefined;
  let interrupted = false;
  let isHeld = () => false;
  const stop = () => {
    interrupted = true;
    if (!isHeld()) scope.cancel();
  };
  const gate: CancelGate = {
    hold: (held) => (isHeld = held),
    release() {
      isHeld = () => false;
      if (interrupted) scope.cancel();
    },
  };
  run.interruptible.add(stop);
  run.working += 1;
  try {
    scope
      .run(() => start(gate))
      .then(
        (value) => (settled = { state: 'done', value }),
        (error: unknown) => (settled = { state: 'failed', error }),
      );
    if (run.cancellation !== undefined) stop();
    await condition(() => settled !== undefined || interrupted);
    if (settled === undefined && patience === 'unbounded') await condition(() => settled !== undefined);
    if (settled === undefined) {
      const runtime = run.pinned?.spec.runtime;
      const limit = (runtime?.cancel_grace_ms ?? 0) + (runtime?.heartbeat_timeout_ms ?? 0) + MARGIN_MS;
      await condition(() => settled !== undefined, limit, { summary: 'waiting for canceled work to stop' });
    }
    return settled ?? { state: 'abandoned' };
  } finally {
    run.interruptible.delete(stop);
    run.working -= 1;
  }
}
