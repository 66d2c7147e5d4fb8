/** How things are called in Redis. What belongs to one run has its id as the hash tag, so a cluster keeps it together. */

export interface RedisNames {
  /** What was said of a run of late, a stream. */
  stream(runId: string): string;
  /** Where it is said, a channel. */
  channel(runId: string): string;
  /** Readers say here which runs they have begun to listen to. */
  readonly interest: string;
  readonly cancels: string;
  /** Workers by their last sign of life, a sorted set. */
  readonly alive: string;
  /** A channel to which a worker listens for as long as its process has a connection: nothing is said there. */
  worker(worker: string): string;
  /** The calls that a worker runs, a hash. */
  calls(worker: string): string;
  /** Held by the worker that sees to the calls of a dead one. */
  lock(worker: string): string;
}

export function redisNames(namespace: string): RedisNames {
  const prefix = `perdure:${namespace}:`;
  const workers = `${prefix}{workers}`;
  return {
    stream: (runId) => `${prefix}{${runId}}:events`,
    channel: (runId) => `${prefix}{${runId}}:live`,
    interest: `${workers}:interest`,
    cancels: `${workers}:cancels`,
    alive: `${workers}:alive`,
    worker: (worker) => `${workers}:worker:${worker}`,
    calls: (worker) => `${workers}:calls:${worker}`,
    lock: (worker) => `${workers}:lock:${worker}`,
  };
}
