/**
 * Streamable HTTP, by the SDK's transport, with what it leaves open:
 *
 * H1  A stream that ends before its answer fails that one call. The SDK only reports it, and the call would wait for
 *     its timeout. A stream that can be resumed is left to the SDK, until it gives up.
 * H2  An answer is bounded in size. One that is none of the protocol fails its call at once.
 * H3  No stream is kept open for what the server says unasked: nobody here listens to it.
 */
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { FetchLike, Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { ErrorCode } from '@modelcontextprotocol/sdk/types.js';
import type { RequestId } from '@modelcontextprotocol/sdk/types.js';
import { createParser } from 'eventsource-parser';
import { malformed, malformedAnswer } from './read-message.js';
import type { Credentials } from './sessions.js';
import { MAX_MESSAGE_BYTES } from './sizes.js';

export interface HttpOptions {
  url: string;
  /** Sent with every request: credentials, for example. A function of for whom the run works gives each a session. */
  headers?: Credentials;
}

/** All of the stream is there by then: what is left is to parse it, which waits for nothing outside. */
const PARSE_MS = 100;
const TOO_LARGE = `the server's answer is larger than ${MAX_MESSAGE_BYTES} bytes`;
const RETRIES = {
  initialReconnectionDelay: 500,
  maxReconnectionDelay: 2_000,
  reconnectionDelayGrowFactor: 1.5,
  maxRetries: 2,
};

export function createHttpTransport(
  { url }: HttpOptions,
  headers: Readonly<Record<string, string>>,
): StreamableHTTPClientTransport {
  const unanswered = new Set<RequestId>();
  const onEvent = (data: string) => {
    const id = malformedAnswer(data);
    if (id !== undefined && unanswered.delete(id)) transport.onmessage?.(malformed(id));
  };
  const guarded: FetchLike = async (address, init) => {
    const asked = new Headers(init?.headers);
    if (init?.method === 'GET' && !asked.has('last-event-id')) return new Response(null, { status: 405 });
    const id = init?.method === 'POST' ? requestIdOf(init.body) : undefined;
    if (id === undefined) return watched(await fetch(address, init), onEvent, () => {});
    unanswered.add(id);
    const response = await fetch(address, init).catch((error: unknown) => {
      unanswered.delete(id);
      throw error;
    });
    return watched(response, onEvent, ({ isResumable, isTooLarge }) => {
      if (isResumable && !isTooLarge) return;
      const error = isTooLarge
        ? { code: ErrorCode.InternalError, message: TOO_LARGE }
        : { code: ErrorCode.ConnectionClosed, message: 'the stream ended before the answer' };
      setTimeout(() => {
        if (unanswered.delete(id)) transport.onmessage?.({ jsonrpc: '2.0', id, error });
      }, PARSE_MS);
    });
  };
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { ...headers } },
    fetch: guarded,
    reconnectionOptions: RETRIES,
  });
  // The client puts its own handlers around these.
  const handlers: Pick<Transport, 'onmessage' | 'onerror'> = transport;
  handlers.onmessage = (message) => {
    if ('id' in message && !('method' in message) && message.id !== undefined) unanswered.delete(message.id);
  };
  handlers.onerror = (error) => {
    if (error.message.startsWith('Maximum reconnection attempts')) void transport.close();
  };
  return transport;
}

/** The same response; `onEvent` is given each event of a stream, and `onEnd` is called when it is over, well or not. */
function watched(
  response: Response,
  onEvent: (data: string) => void,
  onEnd: (how: { isResumable: boolean; isTooLarge: boolean }) => void,
): Response {
  if (response.body === null) return response;
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let bytes = 0;
  let isResumable = false;
  const events = createParser({
    onEvent({ id, data }) {
      // An event with an id: the SDK asks for the rest of the stream by it.
      isResumable ||= id !== undefined;
      onEvent(data);
    },
  });
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) {
          controller.close();
          onEnd({ isResumable, isTooLarge: false });
          return;
        }
        bytes += value.byteLength;
        if (bytes > MAX_MESSAGE_BYTES) {
          await reader.cancel();
          throw new Error(TOO_LARGE);
        }
        controller.enqueue(value);
        if (isStream) events.feed(decoder.decode(value, { stream: true }));
      } catch (error) {
        controller.error(error);
        onEnd({ isResumable, isTooLarge: bytes > MAX_MESSAGE_BYTES });
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
  const { status, statusText, headers } = response;
  return new Response(body, { status, statusText, headers });
}

function requestIdOf(body: unknown): RequestId | undefined {
  if (typeof body !== 'string') return undefined;
  const { id, method } = JSON.parse(body) as { id?: RequestId; method?: string };
  return method === undefined ? undefined : id;
}
