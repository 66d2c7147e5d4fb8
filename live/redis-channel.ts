/**
 * The live channel on Redis 7, for workers and readers in different processes.
 *
 * Redis is speed, never truth: it may be away, emptied, slow or late at any time. Readers then poll, cancels come with
 * heartbeats, and all is as it was when Redis is back. docs/live.md says what it holds, and for how long.
 */
import type { ConnectionOptions } from 'node:tls';
import type { LiveChannel } from './channel.js';
import { openLink } from './redis/link.js';
import { createRedisListeners } from './redis/listeners.js';
import { redisNames } from './redis/names.js';
import { createPresence } from './redis/presence.js';
import { createRedisPublisher } from './redis/publisher.js';

export interface RedisChannelOptions {
  /** Like `redis://user:password@host:6379/0`; `rediss://` with TLS; `redis+cluster://` and `rediss+cluster://`. */
  url: string;
  /** Of Temporal, where the runs are; `default` if absent. */
  namespace?: string;
  tls?: ConnectionOptions;
  /** Told, once, that Redis is away, or refuses what is asked of it, and that it is back. */
  report?: (line: string) => void;
}

/** A reader comes by then, or not at all. */
const EXPECTED_MS = 3_000;
/** Later than that, heartbeats have brought it. */
const CANCEL_TOLD_WITHIN_MS = 5_000;
const MOST_UNSAID = 1_000;
const NOBODY = { live() {}, committed() {} };

export function createRedisChannel(options: RedisChannelOptions): LiveChannel {
  const { url, namespace = 'default', tls, report = () => {} } = options;
  const names = redisNames(namespace);
  const link = openLink({
    url,
    report,
    ...(tls === undefined ? {} : { tls }),
    lost() {
      const count = publisher.takeDropped();
      return count === 0 ? '' : `; ${count} events were not sent, and readers read what they missed`;
    },
  });
  const publisher = createRedisPublisher(link, names);
  const listeners = createRedisListeners(link, names);
  const canceled = new Set<(id: string) => void>();
  const expected = new Set<NodeJS.Timeout>();
  const unsaid = new Set<string>();
  const saying = new Set<Promise<unknown>>();
  let hearsCancels = false;
  let speaks = false;

  link.onAway(() => (hearsCancels = false));
  link.onUp(() => {
    if (speaks) void hearReaders();
    if (canceled.size > 0) void hearCancels();
    sayCancels();
  });
  link.onMessage((channel, text) => {
    if (channel === names.interest) publisher.interest(readIds(text));
    else if (channel === names.cancels) for (const id of readIds(text)) for (const listener of canceled) listener(id);
  });

  /** Only who publishes wants to know who listens. */
  function speak(): void {
    if (speaks) return;
    speaks = true;
    if (link.isUp()) void hearReaders();
  }
  async function hearReaders(): Promise<void> {
    try {
      await link.listen(names.interest);
      publisher.begin();
    } catch (error) {
      link.refused(error);
    }
  }
  function sayCancels(): void {
    if (unsaid.size === 0) return;
    const said = link.commands
      .spublish(names.cancels, JSON.stringify([...unsaid]))
      .catch(link.refused)
      .finally(() => saying.delete(said));
    saying.add(said);
    unsaid.clear();
  }
  async function hearCancels(): Promise<void> {
    try {
      await link.listen(names.cancels);
      hearsCancels = link.isUp();
    } catch (error) {
      link.refused(error);
    }
  }

  return {
    publishLive(runId, events, origin) {
      speak();
      if (origin !== undefined) publisher.live(runId, events, origin);
    },
    publishCommitted(runId, events, origin) {
      speak();
      if (origin !== undefined) publisher.committed(runId, events, origin);
    },
    watched(runId) {
      speak();
      return publisher.watched(runId);
    },
    subscribe: (runId, listener) => listeners.add(runId, listener),
    expect(runId) {
      if (!link.isUp()) return;
      const leave = listeners.add(runId, NOBODY);
      const timer = setTimeout(() => {
        expected.delete(timer);
        leave();
      }, EXPECTED_MS);
      expected.add(timer.unref());
    },
    isUp: () => link.isUp(),
    publishCancel(id) {
      if (unsaid.size < MOST_UNSAID) unsaid.add(id);
      if (link.isUp()) sayCancels();
      else setTimeout(() => unsaid.delete(id), CANCEL_TOLD_WITHIN_MS).unref();
    },
    onCancel(listener) {
      canceled.add(listener);
      if (canceled.size === 1 && link.isUp()) void hearCancels();
      return () => void canceled.delete(listener);
    },
    showWorker: (worker, onSilent) => createPresence({ link, names, worker, onSilent }),
    hearsCancels: () => hearsCancels && link.isUp(),
    async close() {
      for (const timer of expected) clearTimeout(timer);
      // A command that cancels and leaves may be quicker than its connection.
      for (let n = 0; n < 20 && (unsaid.size > 0 || saying.size > 0); n++)
        await new Promise((resolve) => setTimeout(resolve, 25));
      await link.close();
    },
  };
}

function readIds(text: string): string[] {
  try {
    const ids = JSON.parse(text) as unknown;
    return Array.isArray(ids) ? ids.filter((id) => typeof id === 'string') : [];
  } catch {
    return [];
  }
}
