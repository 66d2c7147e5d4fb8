/** Which Temporal server, from flags and from the SDK's own environment configuration; flags win. */
import { existsSync } from 'node:fs';
import { loadClientConfigProfile, toClientOptions } from '@temporalio/envconfig';
import type { Command } from 'commander';
import type { StorageSettings } from '../store/open-storage.js';
import { storageFromEnv } from '../store/storage-settings.js';
import type { ServerOptions } from '../worker/create-worker.js';
import { CommandError, messageOf } from './command-error.js';

export const DEFAULT_ADDRESS = '127.0.0.1:7233';

export interface ServerFlags {
  address?: string;
  namespace?: string;
  taskQueue?: string;
  redisUrl?: string;
}

export interface ServerSettings {
  connection: ServerOptions['connection'] & { address: string };
  namespace: string;
  taskQueue?: string;
  redisUrl?: string;
  storage: StorageSettings;
  /** Where the address comes from; undefined: nobody gave one, and it is the default. */
  given?: string;
}

export function withServerFlags(command: Command): Command {
  return command
    .option('--address <host:port>', `Temporal server (env TEMPORAL_ADDRESS; else ${DEFAULT_ADDRESS})`)
    .option('--namespace <name>', 'Temporal namespace (env TEMPORAL_NAMESPACE; else default)')
    .option('--task-queue <name>', 'task queue of the workers (else perdure)')
    .option('--redis-url <url>', 'Redis 7, for live text and quick cancels between processes (env PERDURE_REDIS_URL)');
}

export const SERVER_HELP = `
The server can also be given by Temporal's environment configuration: TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE,
TEMPORAL_API_KEY, TEMPORAL_TLS…, or a profile of temporal.toml (TEMPORAL_PROFILE, TEMPORAL_CONFIG_FILE).
Files and large payloads go to a bucket by PERDURE_S3_BUCKET (PERDURE_S3_ENDPOINT, PERDURE_S3_REGION, PERDURE_S3_PREFIX,
PERDURE_S3_PATH_STYLE), and are encrypted with PERDURE_ENCRYPTION_KEYS, like id:base64,older:base64.`;

export function serverSettings(flags: ServerFlags, env: NodeJS.ProcessEnv): ServerSettings {
  const profile = loadProfile(env);
  const { connectionOptions, namespace } = toClientOptions({
    ...profile,
    ...(flags.address === undefined ? {} : { address: flags.address }),
  });
  const { address = DEFAULT_ADDRESS, tls, apiKey, metadata } = connectionOptions;
  const given = givenBy(flags, env, profile.address);
  const redisUrl = flags.redisUrl ?? env['PERDURE_REDIS_URL'];
  return {
    connection: {
      address,
      ...(tls === undefined ? {} : { tls }),
      ...(apiKey === undefined ? {} : { apiKey }),
      ...(metadata === undefined ? {} : { metadata }),
    },
    namespace: flags.namespace ?? namespace ?? 'default',
    storage: storageFromEnv(env),
    ...(flags.taskQueue === undefined ? {} : { taskQueue: flags.taskQueue }),
    ...(redisUrl === undefined || redisUrl === '' ? {} : { redisUrl }),
    ...(given === undefined ? {} : { given }),
  };
}

function loadProfile(env: NodeJS.ProcessEnv) {
  const file = env['TEMPORAL_CONFIG_FILE'];
  // The SDK takes a file that is not there for an empty one, also when somebody named it.
  if (file !== undefined && !existsSync(file))
    throw new CommandError(`TEMPORAL_CONFIG_FILE names ${file}, which does not exist.`);
  try {
    return loadClientConfigProfile({ overrideEnvVars: env as Record<string, string> });
  } catch (error) {
    const where = env['TEMPORAL_PROFILE'] === undefined ? '' : ` (TEMPORAL_PROFILE is ${env['TEMPORAL_PROFILE']})`;
    throw new CommandError(
      `Temporal's environment configuration cannot be used${where}: ${messageOf(error)}.`,
      undefined,
      error,
    );
  }
}

function givenBy(flags: ServerFlags, env: NodeJS.ProcessEnv, address: string | undefined): string | undefined {
  if (flags.address !== undefined) return '--address';
  if (env['TEMPORAL_ADDRESS'] !== undefined) return 'TEMPORAL_ADDRESS';
  if (env['TEMPORAL_PROFILE'] !== undefined) return `the profile ${env['TEMPORAL_PROFILE']}`;
  return address === undefined ? undefined : 'the default profile';
}
