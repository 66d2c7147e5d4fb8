/** Bucket and keys as the environment names them. Credentials of the bucket are found the way of AWS's own tools. */
import { PerdureError } from '../contract/errors.js';
import { createKeyRing, parseKeys } from './encryption/key-ring.js';
import type { S3Settings } from './objects/s3-objects.js';
import type { StorageSettings } from './open-storage.js';

export function storageFromEnv(env: Readonly<Record<string, string | undefined>>): StorageSettings {
  const s3 = s3FromEnv(env);
  const text = env['PERDURE_ENCRYPTION_KEYS'];
  if (text === undefined || text.trim() === '') return s3 === undefined ? {} : { s3 };
  const keys = parseKeys(text);
  // Refused here, where the variable can be named, and not by the first payload.
  try {
    createKeyRing(keys);
  } catch (error) {
    throw error instanceof PerdureError
      ? new PerdureError('invalid_config', `PERDURE_ENCRYPTION_KEYS: ${error.message}`)
      : error;
  }
  return { keys, ...(s3 === undefined ? {} : { s3 }) };
}

function s3FromEnv(env: Readonly<Record<string, string | undefined>>): S3Settings | undefined {
  const given = (name: string) => env[`PERDURE_S3_${name}`] || undefined;
  const [bucket, prefix, endpoint, style] = ['BUCKET', 'PREFIX', 'ENDPOINT', 'PATH_STYLE'].map(given);
  const region = given('REGION') ?? (env['AWS_REGION'] || undefined);
  if (bucket === undefined) {
    const lonely = ['PREFIX', 'ENDPOINT', 'PATH_STYLE', 'REGION'].find((name) => given(name) !== undefined);
    if (lonely !== undefined) throw refused(`PERDURE_S3_${lonely} is given, and PERDURE_S3_BUCKET is not`);
    return undefined;
  }
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(bucket)) throw refused(`"${bucket}" is no name of a bucket`);
  if (endpoint !== undefined && !(URL.canParse(endpoint) && /^https?:/.test(endpoint)))
    throw refused(`PERDURE_S3_ENDPOINT is "${endpoint}", and not like https://storage.example:9000`);
  if (style !== undefined && !['on', 'off'].includes(style))
    throw refused(`PERDURE_S3_PATH_STYLE is "${style}": it is "on" or "off"`);
  return {
    bucket,
    ...(prefix === undefined ? {} : { prefix }),
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(region === undefined ? {} : { region }),
    ...(style === undefined ? {} : { path_style: style === 'on' }),
  };
}

function refused(what: string): PerdureError {
  return new PerdureError('invalid_config', what);
}
