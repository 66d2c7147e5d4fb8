/** Perdure's client over HTTP: runs and threads through a gateway, from a browser or any program that has `fetch`. */
import { createGatewayCalls } from './gateway-calls.js';
import { createHttpRuns } from './http-runs.js';
import type { HttpRuns } from './http-runs.js';
import { createHttpThreads } from './http-threads.js';
import type { HttpThreads } from './http-threads.js';
import type { ReconnectOptions } from './resumed-lines.js';

export type { HttpRunStream, HttpStreamOptions } from './http-stream.js';
export type { HttpRuns, RunFilter, RunPage } from './http-runs.js';
export type { HttpThreadStream, HttpThreadStreamOptions } from './http-thread-stream.js';
export type { HttpThreads, ThreadFilter, ThreadStart } from './http-threads.js';
export type { AgentEvent } from '../../contract/agent-events.js';
export type { StreamEvent } from '../../contract/live-events.js';
export type { TaskStepChunk } from '../../contract/task-steps.js';
export type { ContractEvent, TellOptions, ToldRun } from '../../dialects/told-runs.js';
export type { ThreadEvent } from '../../contract/thread-events.js';

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
  readonly threads: HttpThreads;
  /** Ends all streams of this client. */
  close(): Promise<void>;
}

export function createHttpClient(options: HttpClientOptions): HttpClient {
  const closing = new AbortController();
  const calls = createGatewayCalls(options);
  const context = { ...options, closing: closing.signal };
  return {
    runs: createHttpRuns(calls, context),
    threads: createHttpThreads(calls, context),
    close() {
      closing.abort();
      return Promise.resolve();
    },
  };
}
