/** A stream can outlive the key or the token that opened it: it is looked at again, and cut when it is good no more. */
import { isPerdureError } from '../../contract/errors.js';

export function watchCredential(
  check: () => Promise<unknown>,
  everyMs: number,
  cut: (error: unknown) => void,
): () => void {
  const timer = setInterval(() => {
    check().catch((error: unknown) => {
      // Only a refusal counts: keys that cannot be read for a moment say nothing about this one.
      if (!isPerdureError(error) || error.code !== 'unauthenticated') return;
      clearInterval(timer);
      cut(error);
    });
  }, everyMs);
  timer.unref();
  return () => clearInterval(timer);
}
