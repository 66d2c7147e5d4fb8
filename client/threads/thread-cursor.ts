/** Where a reader of a thread is: the turn, and the position in the stream of its run. Opaque: base64url of JSON. */
import { PerdureError } from '../../contract/errors.js';

export interface ThreadPosition {
  /** From 1. */
  turn: number;
  /** The cursor of its run's stream; absent at its beginning. */
  run?: string;
}

/** Version history: 1 first shape. */
type Written = [version: 1, thread_id: string, turn: number, run?: string];

export function writeThreadCursor(threadId: string, { turn, run }: ThreadPosition): string {
  const written: Written = run === undefined ? [1, threadId, turn] : [1, threadId, turn, run];
  return Buffer.from(JSON.stringify(written)).toString('base64url');
}

export function readThreadCursor(cursor: string, threadId: string): ThreadPosition {
  const written = decode(cursor);
  if (!isWritten(written)) throw refused('it is none that a stream of a thread gave, or it was cut on its way');
  const [, of, turn, run] = written;
  if (of !== threadId) throw refused(`it belongs to thread ${of}, not to ${threadId}`);
  return run === undefined ? { turn } : { turn, run };
}

function decode(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString());
  } catch {
    return undefined;
  }
}

function isWritten(value: unknown): value is Written {
  if (!Array.isArray(value)) return false;
  const [version, threadId, turn, run] = value as unknown[];
  const isTurn = Number.isSafeInteger(turn) && (turn as number) > 0;
  return version === 1 && typeof threadId === 'string' && isTurn && (run === undefined || typeof run === 'string');
}

function refused(why: string): PerdureError {
  return new PerdureError('invalid_request', `cursor: cannot resume from it, since ${why}`);
}
