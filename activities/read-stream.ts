import type { ModelProvider, ModelRequest, ModelStreamPart } from '../contract/model-provider.js';

/** Ends with the stream, or as soon as the signal aborts: a vendor's SDK that ignores it is left behind. */
export async function readStream(
  provider: ModelProvider,
  request: ModelRequest,
  signal: AbortSignal,
  onPart: (part: ModelStreamPart) => void,
): Promise<void> {
  let aborted = false;
  let resolve = () => {};
  const stop = new Promise<void>((stopped) => (resolve = stopped));
  const onAbort = () => {
    aborted = true;
    resolve();
  };
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  const read = async () => {
    for await (const part of provider.stream(request, signal)) {
      if (aborted) return;
      onPart(part);
    }
  };
  try {
    await Promise.race([
      read().catch((error: unknown) => {
        if (!aborted) throw error;
      }),
      stop,
    ]);
  } finally {
    // A planner's calls share one signal.
    signal.removeEventListener('abort', onAbort);
  }
}
