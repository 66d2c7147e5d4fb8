/**
 * What a reader iterates: the events of a run, or of it and all below it merged into one order, as a profile shows
 * them, with a cursor to go on from.
 *
 * T1  Events of one run keep their order, and are never rewritten: each says whose it is.
 * T2  A run's events come after the `agent_run_started` that links to it.
 * T3  A run's end (`run_completed`, or the marker where the engine ended it) comes before the `tool_result` of its
 *     call, and after the ends of all runs below it.
 * T4  The cursor is the position after the last event that was delivered. A stream that begins there delivers what
 *     this one had still to deliver: for each run the same durable events, none twice, none missing.
 * T5  Beside the queues of its sources, which are bounded, it holds one event per open run.
 */
import type { StreamPosition } from './stream-cursor.js';
import { writeCursor } from './stream-cursor.js';
import type { StreamEvent } from '../contract/live-events.js';
import { readText } from '../dialects/read-text.js';

export interface RunStream extends AsyncIterableIterator<StreamEvent> {
  /** Where to resume (`stream(runId, { cursor })`): after the last event delivered. Also good after the end. */
  cursor(): string;
  /** The run's own text, as it is said, to be printed: in the place of the events. */
  text(): AsyncIterableIterator<string>;
}

/** The events of one run. One that ends without an end of the run has only so much to give now. */
export interface RunSource extends AsyncIterator<StreamEvent> {
  /** Someone knows that the run has ended: look now. */
  hurry?(): void;
}

interface RunStreamOptions {
  from: StreamPosition;
  sourceOf: (runId: string, from: number) => RunSource;
  /** What the reader is shown of an event, if anything. */
  show: (event: StreamEvent) => StreamEvent | undefined;
}

interface Branch {
  source: RunSource;
  next: number;
  head?: { event: StreamEvent; arrived: number };
  pulling: boolean;
  dry: boolean;
  hurried: boolean;
}

export function createRunStream({ from, sourceOf, show }: RunStreamOptions): RunStream {
  const { run_id, flattened } = from;
  const branches = new Map<string, Branch>();
  let arrivals = 0;
  let closed = false;
  let failure: { error: unknown } | undefined;
  let wake: (() => void) | undefined;
  let turn: Promise<unknown> = Promise.resolve();
  for (const [runId, seq] of from.open) open(runId, seq);

  const stream: RunStream = {
    text: () => readText(stream, run_id),
    cursor() {
      return writeCursor({ run_id, flattened, open: new Map([...branches].map(([id, { next }]) => [id, next])) });
    },
    next() {
      const result = turn.then(advance);
      turn = result.catch(() => {});
      return result;
    },
    return() {
      close();
      return Promise.resolve({ done: true, value: undefined });
    },
    [Symbol.asyncIterator]: () => stream,
  };
  return stream;

  async function advance(): Promise<IteratorResult<StreamEvent, undefined>> {
    while (!closed) {
      for (const branch of branches.values()) pull(branch);
      if (failure !== undefined) {
        close();
        throw failure.error;
      }
      const event = take();
      if (event !== undefined) {
        const shown = show(event);
        // What cannot be read of one run is missing in the story of all.
        if (event.type === 'stream_failed') close();
        if (shown !== undefined) return { done: false, value: shown };
      } else if ([...branches.values()].every(({ pulling }) => !pulling)) close();
      else await new Promise<void>((resolve) => (wake = resolve));
    }
    return { done: true, value: undefined };
  }

  function open(runId: string, seq: number): void {
    if (branches.has(runId)) return;
    branches.set(runId, { source: sourceOf(runId, seq), next: seq, pulling: false, dry: false, hurried: false });
  }

  function pull(branch: Branch): void {
    if (branch.head !== undefined || branch.pulling || branch.dry) return;
    branch.pulling = true;
    branch.source
      .next()
      .then(
        ({ done, value }) => {
          if (done === true) branch.dry = true;
          else branch.head = { event: value, arrived: arrivals++ };
        },
        (error: unknown) => {
          failure = { error };
        },
      )
      .finally(() => {
        branch.pulling = false;
        wake?.();
      });
  }

  /** Of the events that may be shown now, the one that came first. */
  function take(): StreamEvent | undefined {
    let first: { runId: string; branch: Branch; event: StreamEvent; arrived: number } | undefined;
    for (const [runId, branch] of branches) {
      const { head } = branch;
      if (head === undefined || head.arrived > (first?.arrived ?? arrivals) || isHeld(runId, head.event)) continue;
      first = { runId, branch, ...head };
    }
    if (first === undefined) return undefined;
    const { runId, branch, event } = first;
    delete branch.head;
    if ('seq' in event) branch.next = event.seq + 1;
    if (isEnd(event)) branches.delete(runId);
    if (flattened && event.type === 'agent_run_started') open(event.link.run_id, 0);
    return event;
  }

  /** T3. */
  function isHeld(runId: string, event: StreamEvent): boolean {
    if (!flattened) return false;
    if (isEnd(event)) return [...branches.keys()].some((other) => other.startsWith(`${runId}/`));
    const child = event.type === 'tool_result' ? event.link?.run_id : undefined;
    const branch = child === undefined ? undefined : branches.get(child);
    if (child === undefined || branch === undefined) return false;
    if (branch.pulling && !branch.hurried) {
      branch.hurried = true;
      branch.source.hurry?.();
    }
    return true;
  }

  function close(): void {
    closed = true;
    for (const { source } of branches.values()) void source.return?.()?.catch(() => {});
    wake?.();
  }
}

function isEnd(event: StreamEvent): boolean {
  return event.type === 'run_completed' || event.type === 'stream_ended';
}
