/** Perdure's client over HTTP: runs through a gateway, from a browser or any program that has `fetch`. */
import { createGatewayCalls } from './gateway-calls.js';
import { createHttpRuns } from './http-runs.js';
import type { HttpRuns } from './http-runs.js';
import type { ReconnectOptions } from './resumed-lines.js';

export type { HttpRunStream, HttpStreamOptions } from './http-stream.js';
export type { HttpRuns, RunFilter, RunPage } from './http-runs.js';
export type { StreamEvent } from '../../contract/live-events.js';

export interface HttpClientOptions extends ReconnectOptions {
  /** Of the gateway, such as `http://127.0.0.1:2700`. */
  url: string;
  /** An API key or a JWT; none where the gateway asks for none. */
  token?: string;
  /** The global one if absent. */
  fetch?: typeof fetch;
}

export interface HttpClient {
  readonly runs: HttpRuns;
  /** Ends all streams of this client. */
  close(): Promise<void>;
}

export function createHttpClient(options: HttpClientOptions): HttpClient {
  const closing = new AbortController();
  const calls = createGatewayCalls(options);
  return {
    runs: createHttpRuns(calls, { ...options, closing: closing.signal }),
    close() {
      closing.abort();
      return Promise.resolve();
    },
  };
}
