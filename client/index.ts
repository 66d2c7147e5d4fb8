/** Perdure's client: runs and threads over a Temporal client. */
import { createClosedReader } from './closed-logs.js';
import { createRuns } from './runs.js';
import type { ClientOptions, Runs } from './runs.js';
import { createThreadReader } from './threads/read-thread.js';
import { createThreads } from './threads/threads.js';
import type { Threads } from './threads/threads.js';
import { tellingCancels } from './telling-cancels.js';
import { createTurnViews } from './threads/turn-view.js';
import { createTurnWatches } from './threads/turn-watch.js';
import { createUpdates } from './updates.js';

export { createRedisChannel } from '../live/redis-channel.js';
export type { RedisChannelOptions } from '../live/redis-channel.js';
export type { ClosedLogs, ClosedRun } from './closed-logs.js';
export type { RunRecord } from './describe-run.js';
export type { ListedRun, RunFilter, RunPage } from './list-runs.js';
export type { RunStream } from './run-stream.js';
export type { ClientOptions, Runs } from './runs.js';
export type { StreamOptions } from './streams.js';
export type { ThreadStream, ThreadStreamOptions } from './threads/thread-stream.js';
export type { ThreadEvent } from '../contract/thread-events.js';
export type { NextTurn, TurnReader } from './threads/turn-watch.js';
export type { Begun } from './threads/begin-once.js';
export type { ThreadFilter, ThreadList } from './threads/list-threads.js';
export type { ForkOptions } from './threads/fork-thread.js';
export type { GetOptions, ReadOptions, Threads, UpdateOptions } from './threads/threads.js';
export type { AgentEvent } from '../contract/agent-events.js';
export type { StreamEvent } from '../contract/live-events.js';
export type { TaskStepChunk } from '../contract/task-steps.js';
export type { ContractEvent, TellOptions, ToldRun } from '../dialects/told-runs.js';

export interface PerdureClient {
  readonly runs: Runs;
  readonly threads: Threads;
  /** Ends all streams and waits for their last query: close the connection after it. */
  close(): Promise<void>;
}

export function createClient(options: ClientOptions): PerdureClient {
  const updates = createUpdates(options.client, options.limits);
  const closed = createClosedReader(options.archive);
  const runs = createRuns(options, updates, closed);
  const turns = createTurnViews({ stream: (runId) => runs.stream(runId), readOnce: runs.readOnce });
  const { client, artefacts, taskQueue, channel, live, limits } = options;
  const onObstacle = (threadId: string, error: unknown) => options.onObstacle?.(threadId, error, 'thread');
  const reader = createThreadReader(client);
  const watches = createTurnWatches({ client, reader, channel, describe: runs.describe, onObstacle });
  const threads = createThreads({
    client,
    artefacts,
    updates,
    reader,
    turns,
    watches,
    streamRun: runs.stream,
    signalLive: live === 'temporal',
    mostWaiting: limits?.waiting_messages,
    ...(taskQueue === undefined ? {} : { taskQueue }),
  });
  return {
    runs,
    threads: channel === undefined ? threads : tellingCancels(threads, channel),
    async close() {
      turns.close();
      watches.close();
      await runs.close();
    },
  };
}
