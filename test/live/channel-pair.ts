/** The two sides of a live channel: who speaks, and who listens. */
import { randomUUID } from 'node:crypto';
import type { LiveChannel } from '../../live/channel.js';
import { createMemoryChannel } from '../../live/memory-channel.js';
import { createRedisChannel } from '../../live/redis-channel.js';
import { live } from '../contract/written-log.js';
import { until } from '../support/world.js';

export interface ChannelPair {
  speaker: LiveChannel;
  reader: LiveChannel;
  /** What was said, asked and joined until now has arrived. */
  settle(): Promise<void>;
  close(): Promise<void>;
}

export function memoryPair(): ChannelPair {
  const channel = createMemoryChannel();
  return { speaker: channel, reader: channel, settle: () => Promise.resolve(), close: () => Promise.resolve() };
}

/** Without an address: inside this process. */
export async function openPair(url?: string, namespace = `test-${randomUUID()}`): Promise<ChannelPair> {
  if (url === undefined) return memoryPair();
  const [speaker, reader] = [createRedisChannel({ url, namespace }), createRedisChannel({ url, namespace })];
  await until(() => speaker.isUp() && reader.isUp(), 'the connections to Redis');
  // From its first word on it wants to know who listens.
  speaker.watched('nobody');
  let heard = 0;
  reader.subscribe('bell', { live: () => (heard += 1), committed() {} });
  const ring = async () => {
    const before = heard;
    await until(() => {
      speaker.publishLive('bell', [live({ type: 'tool_progress', message: 'ding' })], { execution: 'bell' });
      return heard > before;
    }, 'the bell');
  };
  // A reader that joins makes three trips: it listens, says so, and is answered.
  const settle = async () => {
    for (let n = 0; n < 4; n++) await ring();
  };
  await settle();
  return {
    speaker,
    reader,
    settle,
    async close() {
      await Promise.all([speaker.close(), reader.close()]);
    },
  };
}
