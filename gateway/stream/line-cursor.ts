/**
 * Where a reader is in a stream of lines.
 *
 *   12.1        of one run: line 1 of the event with `seq` 12 was the last one read
 *   12.1.<s>    the same, and before that event `s` had been shown of the blocks that were open
 *   12.end.<s>  a live line: all of event 12 was read, and since then `s` was shown
 *
 * The two differ because an event that closes a block leaves out what was shown of it: whoever is cut between two of
 * its lines must know what had been shown before it. In a flattened tree the tree's own cursor takes the place of
 * the seq (the one before the event, since a run that has ended is in no later one), and `s` also says which event
 * the line is of.
 */
import { readCursor } from '../../client/stream-cursor.js';
import { PerdureError } from '../../contract/errors.js';

/** One line of a durable event. */
export interface LinePlace {
  run_id: string;
  seq: number;
  line: number;
}

type Shown = ReadonlyMap<string, string>;

export interface ResumePoint {
  /** The next event of each run that has begun and not ended. */
  open: ReadonlyMap<string, number>;
  /** Of this event the lines up to this one were read. */
  partly?: LinePlace;
  /** What was shown of open blocks, by run. */
  shown: Shown;
  /** Of a flattened stream: its own cursor. */
  tree?: string;
}

const END = 'end';

export function writeLine({ seq, line }: LinePlace, shown: string | undefined): string {
  return joined(`${seq}.${line}`, shown);
}

/** After the event before `next`, and what was shown live since. */
export function writePosition(next: number, shown: string | undefined): string {
  return next === 0 ? '0' : joined(`${next - 1}.${END}`, shown);
}

export function writeTreeLine(tree: string, place: LinePlace, shown: Shown): string {
  return `${tree}.${place.line}.${pack([place.run_id, place.seq, ...shown])}`;
}

export function writeTreePosition(tree: string, shown: Shown): string {
  return joined(`${tree}.${END}`, shown.size === 0 ? undefined : pack([...shown]));
}

export function readLineCursor(cursor: string, runId: string, flattened: boolean): ResumePoint {
  const [at = '', line = '', shown, ...rest] = cursor.split('.');
  if (rest.length > 0 || !(line === END || /^\d{1,9}$/.test(line)) || shown === '') {
    throw refused('it is none that a stream of lines gave, or it was changed or cut on its way');
  }
  return flattened ? inTree(runId, at, line, shown) : inRun(runId, at, line, shown);
}

function inRun(runId: string, at: string, line: string, shown: string | undefined): ResumePoint {
  if (!/^\d{1,9}$/.test(at)) {
    throw refused('it is of a flattened stream, and the stream that is asked for is of one run');
  }
  const seq = Number(at);
  const state = { shown: new Map(shown === undefined ? [] : [[runId, shown]]) };
  if (line === END) return { ...state, open: new Map([[runId, seq + 1]]) };
  return { ...state, open: new Map([[runId, seq]]), partly: { run_id: runId, seq, line: Number(line) } };
}

function inTree(runId: string, tree: string, line: string, packed: string | undefined): ResumePoint {
  const { open } = readCursor(tree, runId, true);
  const parts = packed === undefined ? [] : unpack(packed);
  const place = line === END ? undefined : placeIn(parts.splice(0, 2), Number(line));
  if (!parts.every(isShown)) throw refused('what it says of open blocks was changed or cut on its way');
  return { open, tree, shown: new Map(parts), ...(place === undefined ? {} : { partly: place }) };
}

function placeIn([run_id, seq]: unknown[], line: number): LinePlace {
  if (typeof run_id === 'string' && Number.isSafeInteger(seq)) return { run_id, seq: seq as number, line };
  throw refused('it does not say of which event its line is');
}

function isShown(part: unknown): part is [runId: string, shown: string] {
  return Array.isArray(part) && part.length === 2 && part.every((each) => typeof each === 'string');
}

function pack(parts: readonly unknown[]): string {
  return Buffer.from(JSON.stringify(parts)).toString('base64url');
}

function unpack(text: string): unknown[] {
  try {
    const parts: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    if (Array.isArray(parts)) return parts;
  } catch (error) {
    throw refused('what it says of open blocks was changed or cut on its way', error);
  }
  throw refused('what it says of open blocks was changed or cut on its way');
}

function joined(position: string, shown: string | undefined): string {
  return shown === undefined ? position : `${position}.${shown}`;
}

export function refused(why: string, cause?: unknown): PerdureError {
  return new PerdureError('invalid_request', `cursor: cannot resume from it, since ${why}`, { cause });
}
