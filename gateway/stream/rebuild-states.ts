/**
 * The dialect's state of each run that a reader is in the middle of: its log so far, told silently. The log comes
 * from the feed that the reader's own stream has opened, so that many who resume at once cost no query.
 */
import type { Runs } from '../../client/index.js';
import { PerdureError } from '../../contract/errors.js';
import type { DurableEvent, EventOf } from '../../contract/events.js';
import { applyProfile } from '../../contract/profiles.js';
import type { StreamProfile } from '../../contract/profiles.js';
import type { Dialect } from '../../dialects/dialect.js';
import { refused } from './line-cursor.js';
import type { ResumePoint } from './line-cursor.js';

export interface RebuildOptions {
  runs: Runs;
  dialect: Dialect<unknown>;
  /** The state of a run of which nothing was told yet. */
  begin: (runId: string) => unknown;
  profile: StreamProfile;
  follow: boolean;
  signal: AbortSignal;
}

export interface Rebuilt {
  states: Map<string, unknown>;
  /** The runs that had said all: there is nothing to wait for. */
  ended: ReadonlyMap<string, EventOf<'run_completed'>>;
}

export async function rebuildStates(point: ResumePoint, options: RebuildOptions): Promise<Rebuilt> {
  const states = new Map<string, unknown>();
  const ended = new Map<string, EventOf<'run_completed'>>();
  for (const [runId, next] of point.open) {
    if (next === 0) continue;
    const { state, last } = await foldUpTo(runId, next, options);
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

async function foldUpTo(
  runId: string,
  next: number,
  options: RebuildOptions,
): Promise<{ state: unknown; last: DurableEvent }> {
  const { runs, dialect, profile, follow, signal } = options;
  const tail = await runs.tail(runId);
  if (next > tail) throw refused(`run ${runId} has written ${tail} events, and it is after number ${next - 1}`);
  let state = options.begin(runId);
  for await (const event of runs.stream(runId, { follow, signal, rest_chunks: false })) {
    if (!('seq' in event)) continue;
    const shown = applyProfile(profile, event);
    if (shown !== undefined) ({ state } = dialect.tell(state, shown));
    if (event.seq === next - 1) return { state, last: event };
  }
  throw new PerdureError('server_unreachable', `the log of run ${runId} could not be read up to event ${next - 1}`);
}

/** A dialect may refuse what it did not write. */
function resumed<State>(resume: () => State): State {
  try {
    return resume();
  } catch (error) {
    throw refused('what it says of open blocks is not of this dialect', error);
  }
}
