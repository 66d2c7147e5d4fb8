/**
 * A dialect: one wire format, as a pure fold of a run's events into lines.
 *
 * D1  The state is of one run. Whoever tells a tree keeps one for each run in it.
 * D2  The lines of a durable event have fixed places, 0, 1, 2, …, whatever was shown live before it: a line whose
 *     content was shown already is left out, or holds only the rest, and its place stays empty. So `<seq>.<line>`
 *     names a line for every reader, and folding the log alone gives the same bytes each time.
 * D3  Lines made of live events have no place. What they showed of open blocks is in the state, and `shown` writes
 *     it into a cursor, so that one who resumes in the middle of a block gets only what is missing.
 *     Lines that a durable event makes only because of what was shown live before it (a warning that text is void)
 *     have no place either, and come before those that do.
 * D4  Text that was sent cannot be taken back: after a retraction the new attempt is held back until it has passed
 *     what was sent; where the two differ, the dialect warns in its own words and starts again.
 */
import type { StreamEvent } from '../contract/live-events.js';

export type LineData = Readonly<Record<string, unknown>>;

export interface Line {
  /** Its place among the lines of its durable event; absent where live events made it. */
  place?: number;
  data: LineData;
}

export interface Told<State> {
  state: State;
  lines: readonly Line[];
  /** What the dialect has no words for: the transport says it. */
  warnings: readonly string[];
}

export interface DialectOptions {
  /** Only committed text: live deltas are not shown, so nothing ever has to be taken back. */
  commit: boolean;
  /**
   * The run is told inside the stream of a run above it: a dialect whose words for an end mean the end of the stream
   * leaves them out, since the parent's own lines say what became of the call.
   */
  nested?: boolean;
  /** Epoch milliseconds, for live lines that need a time: live events have none of their own. */
  clock?: () => number;
}

export interface Dialect<State> {
  readonly name: string;
  /** It shows events as they are, so what is missing of a text must come as a chunk. The others find it themselves. */
  readonly restChunks?: true;
  /** Its state keeps what events brought: one that is made anew needs what the transport adds to them. */
  readonly keeps?: true;
  begin(options: DialectOptions): State;
  /** Never changes the state that it is given. */
  tell(state: State, event: StreamEvent): Told<State>;
  /** What live lines showed of blocks that are still open; undefined where nothing is. Letters, digits, `-`, `_`. */
  shown(state: State): string | undefined;
  /** The state of a reader who has the log up to here and has seen so much of the open blocks. */
  resume(state: State, shown: string): State;
}
