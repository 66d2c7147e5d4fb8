/**
 * Where a reader is in the stream of a thread.
 *
 *   t3            at the beginning of turn 3
 *   t3.<cursor>   within turn 3, where the stream of its run has this cursor
 *   t3e.<cursor>  the same, and then the marker was read that stands for the end which the run did not write;
 *                 without a cursor where the run is gone
 */
import { refused } from './line-cursor.js';

export interface TurnPlace {
  turn: number;
  /** Absent: at its beginning. */
  line?: string;
  isMarkerRead: boolean;
}

export function writeTurnCursor({ turn, line, isMarkerRead }: TurnPlace): string {
  return `t${turn}${isMarkerRead ? 'e' : ''}${line === undefined ? '' : `.${line}`}`;
}

export function beginningOf(turn: number): TurnPlace {
  return { turn, isMarkerRead: false };
}

export function readTurnCursor(cursor: string): TurnPlace {
  const [, turn, marker, line] = /^t([1-9]\d{0,8})(e?)(?:\.(.+))?$/s.exec(cursor) ?? [];
  if (turn === undefined) throw refused('it is none that the stream of a thread gave, or it was cut on its way');
  return { turn: Number(turn), isMarkerRead: marker === 'e', ...(line === undefined ? {} : { line }) };
}
