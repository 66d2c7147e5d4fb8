/** A vendor's stream that ends quietly when the caller's signal aborts, and is gone when the reader is. */
import type { ModelStreamPart } from '../contract/model-provider.js';

/**
 * The SDKs never take their listener off the signal they are given, so they get one that ends with the call. It is
 * aborted at every end: not each SDK closes the connection when its reader goes away.
 */
export async function* abortable(
  signal: AbortSignal,
  call: (signal: AbortSignal) => AsyncIterable<ModelStreamPart>,
): AsyncGenerator<ModelStreamPart> {
  if (signal.aborted) return;
  const controller = new AbortController();
  const abort = () => controller.abort();
  signal.addEventListener('abort', abort, { once: true });
  try {
    yield* call(controller.signal);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    signal.removeEventListener('abort', abort);
    controller.abort();
  }
}
