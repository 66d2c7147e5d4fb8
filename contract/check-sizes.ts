/** Refuses what is larger than the table of `sizes.ts` allows, where it enters and before anything is written. */
import { PerdureError } from './errors.js';
import { oversized } from './sizes.js';

export function checkSizes(given: object): void {
  const found = oversized(given);
  if (found === undefined) return;
  const { field: path, message } = found;
  throw new PerdureError('input_too_large', `${path} ${message}`, { issues: [{ path, message }] });
}
