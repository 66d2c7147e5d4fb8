/** A run opened for a reader: its events as text on the wire, from where the reader was, up to how it ended. */
import type { Runs } from '../../client/index.js';
import { errorOf, PerdureError } from '../../contract/errors.js';
import type { StreamEvent } from '../../contract/live-events.js';
import type { Ending } from '../../contract/stream-lines.js';
import { findStart } from './find-start.js';
import type { Frame, ToldLine } from './frame.js';
import type { ResolvedRequest } from './stream-request.js';
import { createTeller } from './teller.js';

export interface RunOptions extends ResolvedRequest {
  runs: Runs;
  runId: string;
  frame: Frame;
  signal: AbortSignal;
  now: () => number;
  place?: RunPlace;
  /** Done with each event before it goes out. */
  beforeTelling?: (event: StreamEvent) => Promise<void>;
}

/** Of a run that is one of several, told one after another: what its cursors are in the stream of them all. */
export interface RunPlace {
  within(cursor: string): string;
  /** Behind the marker that stands for its end: one that is in no log, where it could be found again. */
  behindMarker(cursor: string): string;
  /** The reader has had it. */
  isMarkerRead: boolean;
}

export interface RunText {
  text: string;
  /** It was the last, and this is where the reader is then. */
  ended?: { ending: Ending; cursor: string };
}

export interface OpenRun {
  next(): Promise<RunText>;
  /** How many events there were; undefined where no worker has said it yet. */
  tail: number | undefined;
  close(): void;
}

const ALONE: RunPlace = { within: (cursor) => cursor, behindMarker: (cursor) => cursor, isMarkerRead: false };

export async function openRun(options: RunOptions): Promise<OpenRun> {
  const { runs, runId, request, dialect, profile, dress, frame, signal, now, place = ALONE } = options;
  const begin = (id: string) => dialect.begin({ commit: request.commit, nested: id !== runId, clock: now });
  const start = await findStart({ runs, runId, request, dialect, begin, profile, dress, signal });
  const { stream, point, states, tail, ended } = start;
  const tree = profile.children === 'flattened' ? () => stream.cursor() : undefined;
  const teller = createTeller({ runId, dialect, begin, point, states, tree });
  const position = () => place.within(teller.position());

  return {
    tail,
    close: () => void stream.return?.(),
    async next() {
      if (ended !== undefined) {
        return {
          text: '',
          ended: { ending: { reason: 'completed', status: ended.status }, cursor: teller.position() },
        };
      }
      const before = tree?.() ?? '';
      const { done, value: event } = await stream.next();
      if (done === true) {
        if (!request.follow) return { text: '', ended: { ending: { reason: 'tail' }, cursor: position() } };
        const what = `the stream of run ${runId} was cut here, and the run goes on`;
        throw new PerdureError('server_unreachable', what);
      }
      if (event.type === 'stream_failed') throw errorOf(event);
      await options.beforeTelling?.(event);
      const { lines, warnings, again } = teller.tell(await dress(event), before);
      const ending = event.run_id === runId ? endingOf(event) : undefined;
      const isMarker = ending !== undefined && !('seq' in event);
      const shown = isMarker && place.isMarkerRead ? [] : lines;
      const placed = shown.map((line, n): ToldLine => {
        const at = isMarker && n === shown.length - 1 ? place.behindMarker : place.within;
        return { ...line, cursor: () => at(line.cursor()) };
      });
      const text = [...placed.map(frame.line), ...warnings.map(frame.aside)].join('');
      return ending === undefined ? { text } : { text, ended: { ending, cursor: place.within(again()) } };
    },
  };
}

function endingOf(event: StreamEvent): Ending | undefined {
  if (event.type === 'run_completed') return { reason: 'completed', status: event.status };
  if (event.type === 'stream_ended') return { reason: event.reason, message: event.message };
  return undefined;
}
