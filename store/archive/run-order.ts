/**
 * The order of runs in the archive: by the time at which they started. It is in their ids, which are the milliseconds
 * with a number behind them for those that started in the same one. So a list needs no sorting, whatever it is a list
 * of, and a page begins at an id.
 */
import { PerdureError } from '../../contract/errors.js';

const IN_A_MILLISECOND = 1_024;
/** In the year 2248; from then on a number would not hold it exactly. */
const LAST = Math.floor(Number.MAX_SAFE_INTEGER / IN_A_MILLISECOND);

/** Those that a run can have, in random order, so that two which start together seldom meet. */
export function* idsOf(startedAt: number): Generator<number> {
  const first = Math.floor(Math.random() * IN_A_MILLISECOND);
  for (let n = 0; n < IN_A_MILLISECOND; n++) yield startedAt * IN_A_MILLISECOND + ((first + n) % IN_A_MILLISECOND);
}

/** Below all that started then or later. */
export function firstIdAt(startedAt: number): number {
  return startedAt * IN_A_MILLISECOND;
}

/** Milliseconds of a time like 2026-01-31T12:00:00.000Z. */
export function timeOf(text: string): number {
  const time = Date.parse(text);
  if (time >= 0 && time < LAST) return time;
  throw new PerdureError('invalid_request', `"${text}" is no time that a run can have`);
}
