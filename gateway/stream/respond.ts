/** A stream as a response: its body, what happens when its reader goes away, and its headers. */
import { TAIL_SEQ_HEADER } from '../../contract/stream-lines.js';
import { createBody } from './response-body.js';
import type { BodySource } from './response-body.js';
import type { Frame } from './frame.js';

/** Of every stream. */
export interface ReaderContext {
  /** All query parameters. */
  query: URLSearchParams;
  headers: Headers;
  /** Aborts when the client goes away. */
  signal: AbortSignal;
  now?: () => number;
  heartbeatMs?: number;
  /** The gateway is going away itself: then no reader has left. */
  isStopping?(): boolean;
  onOpen?(): void;
  onClose?(): void;
  /** For the log: why a stream was cut, or nothing canceled when its reader left. The reader cannot be told. */
  onFailure?(error: unknown): void;
}

export interface StreamParts {
  source: BodySource;
  frame: Frame;
  tail?: number | undefined;
  /** The reader went away, and had asked for this. */
  cancel: (() => Promise<unknown>) | undefined;
  /** Nothing more is read. */
  close(): void;
}

const HEARTBEAT_MS = 15_000;

export function respond(context: ReaderContext, { source, frame, tail, cancel, close }: StreamParts): Response {
  const { signal } = context;
  const body = createBody({
    source,
    heartbeat: frame.heartbeat,
    heartbeatMs: context.heartbeatMs ?? HEARTBEAT_MS,
    now: context.now ?? Date.now,
    onCancel() {
      if (context.isStopping?.() === true) return;
      cancel?.().catch((error: unknown) => context.onFailure?.(error));
    },
    onEnd(error) {
      signal.removeEventListener('abort', aborted);
      close();
      if (error !== undefined) context.onFailure?.(error);
      context.onClose?.();
    },
  });
  function aborted(): void {
    body.abandon(signal.reason);
  }
  context.onOpen?.();
  signal.addEventListener('abort', aborted, { once: true });
  if (signal.aborted) aborted();
  return new Response(body.readable, { headers: responseHeaders(frame.contentType, tail) });
}

function responseHeaders(contentType: string, tail: number | undefined): Record<string, string> {
  return {
    'Content-Type': contentType,
    'Cache-Control': 'no-store',
    // Or a proxy would keep lines back until it has a bufferful.
    'X-Accel-Buffering': 'no',
    // Said, or the server reads the first chunks before it answers, and ends cleanly where one of them fails.
    'Transfer-Encoding': 'chunked',
    ...(tail === undefined ? {} : { [TAIL_SEQ_HEADER]: String(tail - 1) }),
  };
}
