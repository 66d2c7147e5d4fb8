/** Tells a stream in a dialect as a transport does: one state for each run, and nothing may change what it is given. */
import type { StreamEvent } from '../../contract/live-events.js';
import { DIALECTS } from '../../dialects/index.js';
import type { DialectName, DialectState, Line } from '../../dialects/index.js';

export const dialectNames = Object.keys(DIALECTS) as DialectName[];

export interface ToldLine extends Line {
  /** Of the durable event that made it. */
  seq?: number;
}

export type Said = ToldLine | { warning: string };

export interface Teller {
  tell(event: StreamEvent): Said[];
  state(runId: string): DialectState;
  shown(runId: string): string | undefined;
  resume(runId: string, shown: string): void;
}

export function createTeller(name: DialectName, options: { commit?: boolean; rootId?: string } = {}): Teller {
  const dialect = DIALECTS[name];
  const states = new Map<string, DialectState>();
  let root = options.rootId;
  const state = (runId: string) => {
    root ??= runId;
    return states.get(runId) ?? dialect.begin({ commit: options.commit ?? false, nested: runId !== root });
  };
  return {
    state,
    tell(event) {
      const told = dialect.tell(frozen(state(event.run_id)), frozen(event));
      states.set(event.run_id, told.state);
      const seq = 'seq' in event ? { seq: event.seq } : {};
      return [...told.lines.map((line) => ({ ...seq, ...line })), ...told.warnings.map((warning) => ({ warning }))];
    },
    shown: (runId) => dialect.shown(frozen(state(runId))),
    resume: (runId, shown) => void states.set(runId, dialect.resume(frozen(state(runId)), shown)),
  };
}

export function tellAll(name: DialectName, events: readonly StreamEvent[], options: { commit?: boolean } = {}): Said[] {
  const teller = createTeller(name, options);
  return events.flatMap((event) => teller.tell(event));
}

export function linesOf(said: readonly Said[]): ToldLine[] {
  return said.filter((item): item is ToldLine => 'data' in item);
}

function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const inner of Object.values(value)) frozen(inner);
  return value;
}
