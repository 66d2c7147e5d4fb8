/** From `PERDURE_REDIS_URL` to where Redis is. */
import type { ConnectionOptions } from 'node:tls';
import { PerdureError } from '../../contract/errors.js';

export interface RedisTarget {
  host: string;
  port: number;
  username?: string;
  password?: string;
  db?: number;
  tls?: ConnectionOptions;
  cluster: boolean;
  /** Without secrets. */
  shown: string;
}

const SCHEMES = ['redis:', 'rediss:', 'redis+cluster:', 'rediss+cluster:'];
const PORT = 6379;

export function parseRedisUrl(text: string): RedisTarget {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const { protocol = '', hostname = '', pathname = '' } = url ?? {};
  if (!SCHEMES.includes(protocol) || hostname === '') throw refused('it is not like redis://user:password@host:6379');
  const cluster = protocol.endsWith('+cluster:');
  const db = pathname.replace(/^\//, '');
  if (!/^\d{0,4}$/.test(db)) throw refused(`"${db}" is no number of a database`);
  if (cluster && db !== '') throw refused('a cluster has no numbered databases');
  const host = hostname.replace(/^\[|\]$/g, '');
  const port = url?.port ? Number(url.port) : PORT;
  return {
    host,
    port,
    ...(url?.username ? { username: decodeURIComponent(url.username) } : {}),
    ...(url?.password ? { password: decodeURIComponent(url.password) } : {}),
    ...(db === '' ? {} : { db: Number(db) }),
    ...(protocol.startsWith('rediss') ? { tls: {} } : {}),
    cluster,
    shown: `${hostname}:${port}`,
  };
}

/** The text itself may hold a password, so it is not repeated. */
function refused(why: string): PerdureError {
  return new PerdureError(
    'invalid_config',
    `the URL of Redis (PERDURE_REDIS_URL, --redis-url or runtime.redis_url) cannot be used: ${why}. With TLS it begins with rediss://, for a cluster with redis+cluster:// or rediss+cluster://`,
  );
}
