/**
 * Waiting for an activity without letting go of the run: an interrupt (cancel, deadline) is passed on to the
 * activity, which then gets a bounded time to stop. It is on the path of every activity, and the SDK writes down a
 * stack trace for each promise that a workflow makes: so it makes few, and waits by `condition` only when interrupted.
 */
import { ActivityCancellationType, CancellationScope, condition, proxySinks } from '@temporalio/workflow';
import type { RunSinks } from '../contract/sinks.js';
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

const { perdure } = proxySinks<RunSinks>();

/**
 * A run is told of the end of what it has canceled. Before its first revision, the functions of a configuration were
 * left to themselves; their end then made a workflow task without any work in it, which the guard against early events
 * cannot see (`refuse-early-events.ts`).
 */
export function cancellationType({ pinned }: Run): ActivityCancellationType {
  return pinned?.revision === undefined
    ? ActivityCancellationType.TRY_CANCEL
    : ActivityCancellationType.WAIT_CANCELLATION_COMPLETED;
}

export function interrupt(run: Run): void {
  for (const stop of run.interruptible) stop();
  perdure.interrupted(run.handle.run_id);
}

/** `patience` bounds the wait after an interrupt; a child run bounds itself, so its parent waits for its end. */
export function settle<T>(
  run: Run,
  start: (gate: CancelGate) => Promise<T>,
  patience: 'bounded' | 'unbounded' = 'bounded',
): Promise<Settled<T>> {
  const scope = new CancellationScope();
  let settled: Settled<T> | undefined;
  let interrupted = false;
  let isHeld = () => false;
  const gate: CancelGate = {
    hold: (held) => (isHeld = held),
    release() {
      isHeld = () => false;
      if (interrupted) scope.cancel();
    },
  };
  return new Promise((resolve) => {
    const end = (outcome: Settled<T>) => {
      run.interruptible.delete(stop);
      run.working -= 1;
      resolve(outcome);
    };
    const note = (outcome: Settled<T>) => {
      settled = outcome;
      if (!interrupted) end(outcome);
    };
    const stop = () => {
      if (!interrupted) {
        const isOver = () => settled !== undefined;
        void CancellationScope.nonCancellable(() => runOut(run, patience, isOver)).then(() =>
          end(settled ?? { state: 'abandoned' }),
        );
      }
      interrupted = true;
      if (!isHeld()) scope.cancel();
    };
    run.interruptible.add(stop);
    run.working += 1;
    scope
      .run(() => start(gate))
      .then(
        (value) => note({ state: 'done', value }),
        (error: unknown) => note({ state: 'failed', error }),
      );
    if (run.cancellation !== undefined) stop();
  });
}

/** Of patience: over when the work is, or after its time. */
async function runOut(run: Run, patience: 'bounded' | 'unbounded', isOver: () => boolean): Promise<void> {
  // Not before all that the interrupt reaches has been told.
  let told = false;
  const next = condition(() => told);
  told = true;
  await next;
  if (isOver()) return;
  if (patience === 'unbounded') return condition(isOver);
  const runtime = run.pinned?.spec.runtime;
  const limit = (runtime?.cancel_grace_ms ?? 0) + (runtime?.heartbeat_timeout_ms ?? 0) + MARGIN_MS;
  await condition(isOver, limit, { summary: 'waiting for canceled work to stop' });
}
