/** What keeps a worker from reading what is stored. Their texts name keys, objects and places, and no content. */
import { ERRORS, PerdureError } from './errors.js';
import type { ErrorCode } from './errors.js';

export const STORAGE_ERRORS: readonly ErrorCode[] = [
  'storage_unreachable',
  'storage_unusable',
  'object_missing',
  'object_damaged',
  'encryption_key_unknown',
  'encryption_keys_unreachable',
  'decryption_failed',
];

/** Such an error of a worker, which reaches a reader as text: it ends with the advice of its code, as all do. */
export function storageErrorIn(text: string, cause?: unknown): PerdureError | undefined {
  const code = STORAGE_ERRORS.find((each) => text.endsWith(ERRORS[each].advice));
  if (code === undefined) return undefined;
  return new PerdureError(code, `a worker says: ${text.slice(0, -ERRORS[code].advice.length)}`, { cause });
}
