/** Perdure's client: runs and threads over a Temporal client. */
import { createRuns } from './runs.js';
import type { ClientOptions, Runs } from './runs.js';
import { createThreads } from './threads/threads.js';
import type { Threads } from './threads/threads.js';
import { createTurnViews } from './threads/turn-view.js';
import { createTurnWatches } from './threads/turn-watch.js';

export type { RunRecord } from './describe-run.js';
export type { ListedRun, RunFilter, RunPage } from './list-runs.js';
export type { RunStream } from './run-stream.js';
export type { ClientOptions, Runs } from './runs.js';
export type { StreamOptions } from './streams.js';
export type { ThreadEvent, ThreadStream, ThreadStreamOptions } from './threads/thread-stream.js';
export type { NextTurn, TurnReader } from './threads/turn-watch.js';
export type { Begun } from './threads/begin-once.js';
export type { ThreadFilter, ThreadList } from './threads/list-threads.js';
export type { ForkOptions, ReadOptions, Threads, UpdateOptions } from './threads/threads.js';
export type { StreamEvent } from '../contract/live-events.js';

export interface PerdureClient {
  readonly runs: Runs;
  readonly threads: Threads;
  /** Ends all streams and waits for their last query: close the connection after it. */
  close(): Promise<void>;
}

export function createClient(options: ClientOptions): PerdureClient {
  const runs = createRuns(options);
  const turns = createTurnViews({ stream: (runId) => runs.stream(runId), readOnce: runs.readOnce });
  const { client, taskQueue, channel } = options;
  const watches = createTurnWatches(client, channel);
  const threads = createThreads({
    client,
    turns,
    watches,
    streamRun: runs.stream,
    signalLive: channel === undefined,
    ...(taskQueue === undefined ? {} : { taskQueue }),
  });
  return {
    runs,
    threads,
    async close() {
      turns.close();
      watches.close();
      await runs.close();
    },
  };
}
