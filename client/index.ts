/** Perdure's client: runs over a Temporal client. */
import { createRuns } from './runs.js';
import type { ClientOptions, Runs } from './runs.js';

export type { RunRecord } from './describe-run.js';
export type { ListedRun, RunFilter, RunPage } from './list-runs.js';
export type { RunStream } from './run-stream.js';
export type { ClientOptions, Runs } from './runs.js';
export type { StreamOptions } from './streams.js';
export type { StreamEvent } from '../contract/live-events.js';

export interface PerdureClient {
  readonly runs: Runs;
  /** Ends all streams and waits for their last query: close the connection after it. */
  close(): Promise<void>;
}

export function createClient(options: ClientOptions): PerdureClient {
  const runs = createRuns(options);
  return { runs, close: () => runs.close() };
}
