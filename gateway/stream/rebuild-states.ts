/** The dialect's state of each run that a reader is in the middle of. */
import { foldLog } from '../../client/fold-log.js';
import type { FoldOptions } from '../../client/fold-log.js';
import type { EventOf } from '../../contract/events.js';
import { refused } from './line-cursor.js';
import type { ResumePoint } from './line-cursor.js';

export interface Rebuilt {
  states: Map<string, unknown>;
  /** The runs that had said all: there is nothing to wait for. */
  ended: ReadonlyMap<string, EventOf<'run_completed'>>;
}

export async function rebuildStates(point: ResumePoint, options: FoldOptions<unknown>): Promise<Rebuilt> {
  const states = new Map<string, unknown>();
  const ended = new Map<string, EventOf<'run_completed'>>();
  for (const [runId, next] of point.open) {
    if (next === 0) continue;
    const { state, last } = await foldLog(runId, next, options);
    states.set(runId, state);
    if (last.type === 'run_completed') ended.set(runId, last);
  }
  for (const [runId, shown] of point.shown) {
    const { dialect } = options;
    const state = states.get(runId) ?? options.begin(runId);
    states.set(
      runId,
      resumed(() => dialect.resume(state, shown)),
    );
  }
  return { states, ended };
}

/** A dialect may refuse what it did not write. */
function resumed<State>(resume: () => State): State {
  try {
    return resume();
  } catch (error) {
    throw refused('what it says of open blocks is not of this dialect', error);
  }
}
