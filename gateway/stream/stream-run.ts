/** The events of a run as lines of JSON. */
import type { Runs } from '../../client/index.js';
import type { ProfileName, StreamProfileInput } from '../../contract/profiles.js';

export interface StreamContext {
  runs: Runs;
  runId: string;
  /** All query parameters. */
  query: URLSearchParams;
  headers: Headers;
  /** Aborts when the client goes away. */
  signal: AbortSignal;
  /** The resolved profile that the principal may see. */
  profile: ProfileName | StreamProfileInput;
  now?: () => number;
  heartbeatMs?: number;
  onOpen?(): void;
  onClose?(): void;
  /** For the log: why a stream was cut. The reader cannot be told. */
  onFailure?(error: unknown): void;
}

export function streamRun(context: StreamContext): Promise<Response> {
  const { runs, runId, query, signal, profile, onOpen, onClose, onFailure } = context;
  const events = runs.stream(runId, { profile, signal, follow: query.get('follow') !== 'false' });
  const encoder = new TextEncoder();
  onOpen?.();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await events.next();
        if (done !== true) return controller.enqueue(encoder.encode(`${JSON.stringify(value)}\n`));
        controller.close();
      } catch (error) {
        onFailure?.(error);
        controller.error(error);
      }
      onClose?.();
    },
    async cancel() {
      await events.return?.();
      onClose?.();
    },
  });
  return Promise.resolve(new Response(body, { headers: { 'content-type': 'application/x-ndjson' } }));
}
