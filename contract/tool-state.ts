/**
 * The durable state of tools: it is in the workflow, so no crash resets it. A call gets a snapshot of the cells that its
 * tool reads, and gives back changes, which the workflow makes when the call ends. No zod here.
 *
 * D1  The changes of a call are made all or none, one call after another: two parallel calls cannot both pass a limit
 *     of one. A change that cannot be made replaces the result of the call by what the change says otherwise.
 * D2  A call that fails changes nothing, but for what it counts whatever becomes of it.
 * D3  `run` cells are the run's own. `shared` cells are the thread's where there is one, else the run tree's: a child
 *     is given them when it starts, and what is new in them comes back with its end, whatever that is.
 * D4  What comes back only adds, or changes what is still as the child was given it: it takes nothing away.
 */
import type { ToolFailure } from './tools.js';

export interface StateCell {
  scope: 'run' | 'shared';
  /** Like `web.scrolls`: one name, one meaning, in all tools of a configuration. */
  name: string;
}

export interface StateEntry {
  /** Unique in its cell. */
  key: string;
  value: unknown;
}

/** Entries by the name of the cell, in the order in which they came. */
export type StateCells = Record<string, StateEntry[]>;

/** What a call says instead, when its change cannot be made. */
export interface Otherwise {
  content: string;
  failure?: ToolFailure;
  /** Shown to the user. */
  notice?: string;
}

export type StateChange = { cell: StateCell } & (
  | {
      op: 'increment';
      key: string;
      below: number;
      otherwise: Otherwise;
      /** Also where the call fails. */
      always?: boolean;
    }
  | { op: 'append'; key: string; value: unknown; bounds?: StateBounds; otherwise?: Otherwise }
  | { op: 'set'; key: string; value: unknown }
  /** The entry at an index. */
  | { op: 'replace'; index: number; value: unknown; bounds?: StateBounds; otherwise: Otherwise }
  | { op: 'clear' }
);

/** Of a cell, after the change. */
export interface StateBounds {
  entries: number;
  characters: number;
}

/** What a run leaves in the shared cells, for the one that started it. */
export type StateNews = Record<string, { added: StateEntry[]; changed: { key: string; from: unknown; to: unknown }[] }>;

/** The oldest entries of a cell give way to those that are set; so a gate can close again, and never opens by itself. */
export const MOST_SET_ENTRIES = 1_000;

export interface ToolStates {
  run: StateCells;
  shared: StateCells;
  /** The shared cells as they were given to the run. */
  inherited: StateCells;
}

export function beginStates(inherited: StateCells = {}): ToolStates {
  return { run: {}, shared: copy(inherited), inherited };
}

/** The named cells, for a call. */
export function snapshotOf(states: ToolStates, cells: readonly StateCell[]): { run: StateCells; shared: StateCells } {
  const taken: { run: StateCells; shared: StateCells } = { run: {}, shared: {} };
  for (const { scope, name } of cells) taken[scope][name] = states[scope][name] ?? [];
  return taken;
}

/** Undefined when all changes are made; else nothing is, and the call says this. */
export function applyChanges(states: ToolStates, changes: readonly StateChange[]): Otherwise | undefined {
  const draft = { run: copy(states.run), shared: copy(states.shared) };
  for (const change of changes) {
    const { scope, name } = change.cell;
    const entries = (draft[scope][name] ??= []);
    if (!applyChange(entries, change)) return 'otherwise' in change && change.otherwise ? change.otherwise : FULL;
  }
  states.run = draft.run;
  states.shared = draft.shared;
  return undefined;
}

const FULL: Otherwise = { content: 'There is no room for more.' };

function applyChange(entries: StateEntry[], change: StateChange): boolean {
  switch (change.op) {
    case 'increment': {
      const known = entries.find((entry) => entry.key === change.key);
      const count = typeof known?.value === 'number' ? known.value : 0;
      if (count >= change.below) return false;
      if (known === undefined) entries.push({ key: change.key, value: 1 });
      else known.value = count + 1;
      return true;
    }
    case 'append': {
      // The same call, however often its result is taken, leaves one entry.
      if (entries.some((entry) => entry.key === change.key)) return true;
      entries.push({ key: change.key, value: change.value });
      return fits(entries, change.bounds);
    }
    case 'set': {
      const known = entries.find((entry) => entry.key === change.key);
      if (known !== undefined) known.value = change.value;
      else entries.push({ key: change.key, value: change.value });
      if (entries.length > MOST_SET_ENTRIES) entries.shift();
      return true;
    }
    case 'replace': {
      const known = entries[change.index];
      if (known === undefined) return false;
      known.value = change.value;
      return fits(entries, change.bounds);
    }
    case 'clear':
      entries.length = 0;
      return true;
  }
}

function fits(entries: readonly StateEntry[], bounds: StateBounds | undefined): boolean {
  if (bounds === undefined) return true;
  return entries.length <= bounds.entries && JSON.stringify(entries).length <= bounds.characters;
}

/** What the run that ends has added to what it was given; undefined for nothing. */
export function newsOf({ shared, inherited }: ToolStates): StateNews | undefined {
  const news: StateNews = {};
  for (const [name, entries] of Object.entries(shared)) {
    const given = new Map((inherited[name] ?? []).map((entry) => [entry.key, entry.value]));
    const added = entries.filter((entry) => !given.has(entry.key));
    const changed = entries
      .filter((entry) => given.has(entry.key) && !same(given.get(entry.key), entry.value))
      .map(({ key, value }) => ({ key, from: given.get(key), to: value }));
    if (added.length > 0 || changed.length > 0) news[name] = { added, changed };
  }
  return Object.keys(news).length === 0 ? undefined : news;
}

export function takeNews(shared: StateCells, news: StateNews | undefined): void {
  for (const [name, { added, changed }] of Object.entries(news ?? {})) {
    const entries = (shared[name] ??= []);
    for (const { key, value } of added) {
      const known = entries.find((entry) => entry.key === key);
      if (known === undefined) entries.push({ key, value });
      else known.value = value;
    }
    for (const { key, from, to } of changed) {
      const known = entries.find((entry) => entry.key === key);
      if (known !== undefined && same(known.value, from)) known.value = to;
    }
  }
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function copy(cells: StateCells): StateCells {
  return Object.fromEntries(
    Object.entries(cells).map(([name, entries]) => [name, entries.map((entry) => ({ ...entry }))]),
  );
}
