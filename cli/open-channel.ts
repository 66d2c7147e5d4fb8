/** The live channel between processes, where one is configured: by flag, by the environment, or by the application. */
import type { LiveChannel } from '../live/channel.js';
import { createRedisChannel } from '../live/redis-channel.js';
import type { ServerSettings } from './server-settings.js';

export function openChannel(
  { redisUrl, namespace }: Pick<ServerSettings, 'redisUrl' | 'namespace'>,
  report: (line: string) => void,
): LiveChannel | undefined {
  return redisUrl === undefined ? undefined : createRedisChannel({ url: redisUrl, namespace, report });
}

export function withRedisOf(registry: { redis_url: string | undefined }, settings: ServerSettings): ServerSettings {
  const redisUrl = settings.redisUrl ?? registry.redis_url;
  return redisUrl === undefined ? settings : { ...settings, redisUrl };
}
