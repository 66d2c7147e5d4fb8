/**
 * The dialect's state of each run that a reader is in the middle of: its log so far, told silently. The log comes
 * from the feed that the reader's own stream has opened, so that many who resume at once cost no query.
 */
import type { Runs } from '../../client/index.js';
import { PerdureError } from '../../contract/errors.js';
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

export async function rebuildStates(point: ResumePoint, options: RebuildOptions): Promise<Map<string, unknown>> {
  const states = new Map<string, unknown>();
  for (const [runId, next] of point.open) {
    if (next > 0) states.set(runId, await stateAt(runId, next, options));
  }
  for (const [runId, shown] of point.shown) {
    const { dialect } = options;
    const state = states.get(runId) ?? options.begin(runId);
    states.set(
      runId,
      resumed(() => dialect.resume(state, shown)),
    );
  }
  return states;
}

async function stateAt(runId: string, next: number, options: RebuildOptions): Promise<unknown> {
  const { runs, dialect, profile, follow, signal } = options;
  const tail = await runs.tail(runId);
  if (next > tail) throw refused(`run ${runId} has written ${tail} events, and it is after number ${next - 1}`);
  let state = options.begin(runId);
  for await (const event of runs.stream(runId, { follow, signal })) {
    if (!('seq' in event)) continue;
    const shown = applyProfile(profile, event);
    if (shown !== undefined) ({ state } = dialect.tell(state, shown));
    if (event.seq === next - 1) return state;
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
