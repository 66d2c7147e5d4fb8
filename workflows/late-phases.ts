/**
 * The phases of runs without a revision, up to 0.4, as their histories have them: one that follows another too soon is
 * shown by a timer. It goes with those runs: see `patches.ts`.
 */
import { CancellationScope, sleep } from '@temporalio/workflow';
import type { Change } from './run-page.js';
import type { Run } from './run-state.js';

const SETTLES_MS = 3_000;
/** Of runs that were started without attributes, as all were up to 0.2. */
const SETTLES_MS_WITHOUT = 1_000;

export interface LatePhases {
  /** To be shown now; else a timer is set for it. */
  isDue(changed: Change[]): boolean;
  shown(): void;
  stop(): void;
}

export function createLatePhases(run: Run, hasAttributes: boolean, show: () => void): LatePhases {
  const settles = hasAttributes ? SETTLES_MS : SETTLES_MS_WITHOUT;
  let shownAt = hasAttributes ? 0 : Number.NEGATIVE_INFINITY;
  let later: CancellationScope | undefined;

  function setTimer(wait: number): void {
    if (later !== undefined) return;
    later = new CancellationScope();
    later
      .run(() => sleep(wait, { summary: 'phase to be shown' }))
      .then(
        () => {
          later = undefined;
          show();
        },
        () => {},
      );
  }

  return {
    isDue(changed) {
      const early = shownAt + settles - run.worked_ms;
      if (early <= 0 || changed.some(([name]) => name !== 'PerdurePhase')) return true;
      setTimer(early);
      return false;
    },
    shown() {
      shownAt = run.worked_ms;
    },
    stop: () => later?.cancel(),
  };
}
