/** A cluster of Redis: some masters, without replicas. */
import { startRedis } from './redis.js';
import type { RedisServer } from './redis.js';
import { until } from './world.js';

const SLOTS = 16_384;

export interface RedisCluster {
  readonly url: string;
  readonly nodes: readonly RedisServer[];
  stop(): Promise<void>;
}

export async function startCluster(size: number): Promise<RedisCluster> {
  const args = ['--cluster-enabled', 'yes'];
  const nodes = await Promise.all(Array.from({ length: size }, () => startRedis(args)));
  const [first] = nodes;
  if (first === undefined) throw new Error('a cluster has a node at least');
  for (const [n, { admin }] of nodes.entries()) {
    const [from, to] = [Math.floor((n * SLOTS) / size), Math.floor(((n + 1) * SLOTS) / size) - 1];
    await admin.cluster('ADDSLOTSRANGE', from, to);
    if (n > 0) await admin.cluster('MEET', '127.0.0.1', first.port);
  }
  const isReady = async ({ admin }: RedisServer) => {
    const info = await admin.cluster('INFO');
    return info.includes('cluster_state:ok') && info.includes(`cluster_known_nodes:${size}`);
  };
  await until(async () => (await Promise.all(nodes.map(isReady))).every(Boolean), 'the cluster');
  return {
    url: first.url.replace('redis://', 'redis+cluster://'),
    nodes,
    async stop() {
      await Promise.all(nodes.map((node) => node.stop()));
    },
  };
}
