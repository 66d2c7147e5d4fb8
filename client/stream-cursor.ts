/**
 * The cursor of a stream: where a reader is in each run that it has seen begin and not end. Runs that have ended
 * need no entry, and those that have not begun are found on the way, so a cursor is as long as the tree is wide at
 * that moment. Opaque to its holder: base64url of JSON.
 */
import { PerdureError } from '../contract/errors.js';

export interface StreamPosition {
  /** The run that the stream was asked for. */
  run_id: string;
  flattened: boolean;
  /** The next `seq` of each open run. */
  open: ReadonlyMap<string, number>;
}

/** Version history: 1 first shape. */
interface Written {
  version: 1;
  run_id: string;
  flattened: boolean;
  /** A run is written as what follows the stream's own run id and `/`. */
  open: [run: string, next: number][];
}

export function writeCursor({ run_id, flattened, open }: StreamPosition): string {
  const relative = [...open].map(([id, next]): [string, number] => [id.slice(run_id.length + 1), next]);
  const written: Written = { version: 1, run_id, flattened, open: relative };
  return Buffer.from(JSON.stringify(written)).toString('base64url');
}

export function readCursor(cursor: string, runId: string, flattened: boolean): StreamPosition {
  const written = decode(cursor);
  if (!isWritten(written)) throw refusedCursor('it is none that a stream gave, or it was changed or cut on its way');
  const { run_id, open } = written;
  if (run_id !== runId) throw refusedCursor(`it belongs to run ${run_id}, not to ${runId}`);
  if (written.flattened !== flattened) {
    const [of, asked] = flattened ? ['one run', 'flattened'] : ['a flattened stream', 'one run'];
    throw refusedCursor(
      `it is of ${of}, and the stream that is asked for is ${asked}: resume with the same \`children\``,
    );
  }
  const entries = open.map(([id, next]) => [id === '' ? run_id : `${run_id}/${id}`, next] as const);
  if (!flattened && entries.some(([id]) => id !== run_id)) throw refusedCursor('it names other runs than its own');
  return { run_id, flattened, open: new Map(entries) };
}

function decode(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString());
  } catch {
    return undefined;
  }
}

function isWritten(value: unknown): value is Written {
  const { version, run_id, flattened, open } = (value ?? {}) as Partial<Written>;
  return (
    version === 1 &&
    typeof run_id === 'string' &&
    typeof flattened === 'boolean' &&
    Array.isArray(open) &&
    open.every((entry) => Array.isArray(entry) && typeof entry[0] === 'string' && isSeq(entry[1]))
  );
}

function isSeq(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

export function refusedCursor(why: string): PerdureError {
  return new PerdureError('invalid_request', `cursor: cannot resume from it, since ${why}`);
}
