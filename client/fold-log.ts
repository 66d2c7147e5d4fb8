/**
 * A dialect's state of a run in the middle of its log: what comes before is told silently. The log comes from the feed
 * that the reader's own stream has opened, so that many who resume at once cost no query.
 */
import { PerdureError } from '../contract/errors.js';
import type { DurableEvent } from '../contract/events.js';
import { applyProfile } from '../contract/profiles.js';
import type { StreamProfile } from '../contract/profiles.js';
import type { Dialect } from '../dialects/dialect.js';
import type { Dress } from './dress-events.js';
import type { RunStream } from './run-stream.js';
import { refusedCursor } from './stream-cursor.js';
import type { StreamOptions } from './streams.js';

export interface FoldOptions<State> {
  runs: {
    stream(runId: string, options: StreamOptions): RunStream;
    tail(runId: string): Promise<number>;
  };
  dialect: Dialect<State>;
  /** The state of a run of which nothing was told yet. */
  begin: (runId: string) => State;
  profile: StreamProfile;
  /** What the transport adds to an event before it is told. */
  dress: Dress;
  follow: boolean;
  signal: AbortSignal | undefined;
}

/** Up to the event before `next`, which is the last; `next` is not 0. */
export async function foldLog<State>(
  runId: string,
  next: number,
  options: FoldOptions<State>,
): Promise<{ state: State; last: DurableEvent }> {
  const { runs, dialect, profile, follow, signal } = options;
  const tail = await runs.tail(runId);
  if (next > tail) throw refusedCursor(`run ${runId} has written ${tail} events, and it is after number ${next - 1}`);
  // Where nothing is kept of what the transport adds, it need not be fetched.
  const dress: Dress = dialect.keeps === true ? options.dress : (event) => event;
  let state = options.begin(runId);
  const stop = signal === undefined ? {} : { signal };
  for await (const event of runs.stream(runId, { follow, rest_chunks: false, ...stop })) {
    if (!('seq' in event)) continue;
    const shown = applyProfile(profile, event);
    if (shown !== undefined) ({ state } = dialect.tell(state, await dress(shown)));
    if (event.seq === next - 1) return { state, last: event };
  }
  throw new PerdureError('server_unreachable', `the log of run ${runId} could not be read up to event ${next - 1}`);
}
