/**
 * Tells events in a dialect: keeps its state of each run, gives every line its cursor, and leaves out the lines that
 * a reader who resumes has had.
 */
import type { StreamEvent } from '../../contract/live-events.js';
import type { RunHandle } from '../../contract/run.js';
import type { StreamEnvelope, StreamWarning } from '../../contract/stream-lines.js';
import type { Dialect } from '../../dialects/dialect.js';
import type { ToldLine } from './frame.js';
import { writeLine, writePosition, writeTreeLine, writeTreePosition } from './line-cursor.js';
import type { ResumePoint } from './line-cursor.js';

interface ToldEvent {
  lines: ToldLine[];
  warnings: StreamWarning[];
  /** After its lines, and still before what follows from it: whoever resumes here learns again that it was the end. */
  again: () => string;
}

export interface Teller {
  /** `before` is the tree's own cursor before the event, where the stream is flattened. */
  tell(event: StreamEvent, before: string): ToldEvent;
  /** After all that was told. */
  position(): string;
}

export interface TellerOptions {
  runId: string;
  dialect: Dialect<unknown>;
  /** The state of a run of which nothing was told yet. */
  begin: (runId: string) => unknown;
  point: ResumePoint;
  states: Map<string, unknown>;
  /** The cursor of the flattened stream as it is now; undefined where the stream is of one run. */
  tree: (() => string) | undefined;
}

/** How it was before an event. */
interface Earlier {
  state: unknown;
  next: number;
  tree: string;
}

export function createTeller({ runId, dialect, begin, point, states, tree }: TellerOptions): Teller {
  let next = point.open.get(runId) ?? 0;

  function position(): string {
    if (tree !== undefined) return writeTreePosition(tree(), shownByRun());
    const state = states.get(runId);
    return writePosition(next, state === undefined ? undefined : dialect.shown(state));
  }

  function shownByRun(all: ReadonlyMap<string, unknown> = states): Map<string, string> {
    const shown = [...all].map(([id, state]) => [id, dialect.shown(state)] as const);
    return new Map(shown.filter((entry): entry is [string, string] => entry[1] !== undefined));
  }

  /**
   * For the lines of a durable event: what had been shown before it goes into each of their cursors. One without a
   * place comes before the others: whoever is cut behind it is told the event again.
   */
  function cursorAt(event: StreamEvent, place: number | undefined, earlier: Earlier): string {
    const { run_id } = event;
    const line = 'seq' in event && place !== undefined ? { run_id, seq: event.seq, line: place } : undefined;
    if (tree === undefined) {
      const shown = earlier.state === undefined ? undefined : dialect.shown(earlier.state);
      return line === undefined ? writePosition(earlier.next, shown) : writeLine(line, shown);
    }
    const others = new Map(states);
    if (earlier.state === undefined) others.delete(run_id);
    else others.set(run_id, earlier.state);
    const shown = shownByRun(others);
    return line === undefined ? writeTreePosition(earlier.tree, shown) : writeTreeLine(earlier.tree, line, shown);
  }

  return {
    position,
    tell(event, before) {
      const { run_id } = event;
      const earlier: Earlier = { state: states.get(run_id), next, tree: before };
      const told = dialect.tell(earlier.state ?? begin(run_id), event);
      // What has ended says no more.
      if (event.type === 'run_completed' || event.type === 'stream_ended') states.delete(run_id);
      else states.set(run_id, told.state);
      if (run_id === runId && 'seq' in event) next = event.seq + 1;
      const identity = () => identityOf(event);
      const lines = told.lines
        .filter(({ place }) => !wasRead(event, place))
        .map(({ place, data }, index, all) => {
          // Of several live lines only the last is behind all that was shown: a cut before it must lose nothing.
          const isLast = index === all.length - 1;
          const cursor = 'seq' in event || !isLast ? () => cursorAt(event, place, earlier) : position;
          return { data, identity, cursor };
        });
      const warnings = told.warnings.map((message): StreamWarning => ({ perdure: 'warning', run_id, message }));
      const last = told.lines.at(-1)?.place ?? 0;
      return { lines, warnings, again: () => cursorAt(event, last, earlier) };
    },
  };

  /** One without a place came before those that have one. */
  function wasRead(event: StreamEvent, place = -1): boolean {
    const { partly } = point;
    if (partly === undefined || !('seq' in event)) return false;
    return event.run_id === partly.run_id && event.seq === partly.seq && place <= partly.line;
  }
}

function identityOf(event: StreamEvent): Omit<StreamEnvelope, 'cursor' | 'data'> {
  const { run_id, agent_id, root_run_id, parent_run_id, parent_tool_call_id, thread_id }: Partial<RunHandle> = event;
  return {
    run_id: run_id ?? event.run_id,
    ...(agent_id === undefined ? {} : { agent_id }),
    ...(root_run_id === undefined ? {} : { root_run_id }),
    ...(parent_run_id === undefined ? {} : { parent_run_id }),
    ...(parent_tool_call_id === undefined ? {} : { parent_tool_call_id }),
    ...(thread_id === undefined ? {} : { thread_id }),
    ...('seq' in event ? { seq: event.seq } : {}),
  };
}
