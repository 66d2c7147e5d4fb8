/**
 * Objects in a bucket of S3, or of a server that speaks it.
 *
 * S1  Each is written under the condition that there is none of its name (`If-None-Match: *`). A server that does not
 *     know the condition is found out by a probe, once, and said; then each write looks first, which leaves a moment in
 *     which two may write. They write the same.
 * S2  A call that fails for a reason that passes is made again, also where its answer was lost: by S1 that does nothing.
 * S3  Errors name bucket and object, never a credential.
 */
import { PerdureError } from '../../contract/errors.js';
import { loadS3 } from './load-s3.js';
import type { Objects } from './objects.js';
import { tryAgain } from './try-again.js';

export interface S3Settings {
  bucket: string;
  /** Before all names; empty if absent. */
  prefix?: string;
  /** Of another server than Amazon's, like `http://minio:9000`. */
  endpoint?: string;
  region?: string;
  /** The bucket in the path and not in the host; where an endpoint is given, unless it says no. */
  path_style?: boolean;
}

export interface S3Objects {
  /** Of a folder in the bucket. */
  within(folder: string): Objects;
  /** Whether the bucket can be used, and how: throws `storage_unusable` or `storage_unreachable`. */
  probe(): Promise<void>;
  close(): void;
}

const DEFAULT_REGION = 'us-east-1';
const CONNECT_TIMEOUT_MS = 5_000;
const REQUEST_TIMEOUT_MS = 30_000;
const PROBE_NAME = 'write-once-probe';
/** Its name, or its status, where a server does not know the condition. */
const NOT_KNOWN = ['NotImplemented', 'InvalidArgument', 'InvalidRequest', 'XNotImplemented'];

export async function openS3(settings: S3Settings, report: (line: string) => void = () => {}): Promise<S3Objects> {
  const S3 = await loadS3();
  const { bucket, endpoint, region } = settings;
  const prefix = (settings.prefix ?? '').replace(/^\/+|\/+$/g, '');
  const place = `s3://${[bucket, prefix].filter((part) => part !== '').join('/')}`;
  const client = new S3.S3Client({
    // The SDK looks for a region where none is given, and finds none on a machine that is not Amazon's.
    ...(region === undefined ? (endpoint === undefined ? {} : { region: DEFAULT_REGION }) : { region }),
    ...(endpoint === undefined ? {} : { endpoint }),
    forcePathStyle: settings.path_style ?? endpoint !== undefined,
    // The SDK's own retries run out of their quota when a bucket is unwell, and know nothing of a body that is cut.
    maxAttempts: 1,
    requestHandler: { connectionTimeout: CONNECT_TIMEOUT_MS, requestTimeout: REQUEST_TIMEOUT_MS },
    // Contents are checked by digests of our own, and not every server knows these headers.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  });
  const keyOf = (name: string) => (prefix === '' ? name : `${prefix}/${name}`);
  const explain = (name: string) => (error: unknown) => {
    throw explained(error, `${place}/${name}`);
  };
  const again = <T>(call: () => Promise<T>) => tryAgain(call, mayPass);
  let condition: Promise<boolean> | undefined;

  async function write(name: string, Body: Uint8Array, once: boolean): Promise<'written' | 'was there'> {
    const Key = keyOf(name);
    const given = { Bucket: bucket, Key, Body, ...(once ? { IfNoneMatch: '*' } : {}) };
    try {
      await again(() => client.send(new S3.PutObjectCommand(given)));
      return 'written';
    } catch (error) {
      if (once && isOneOf(error, ['PreconditionFailed'], [412])) return 'was there';
      throw error;
    }
  }

  async function knowsCondition(): Promise<boolean> {
    const [name, bytes] = [PROBE_NAME, Buffer.from('written once')];
    try {
      await write(name, bytes, true);
      if ((await write(name, bytes, true)) === 'was there') return true;
    } catch (error) {
      if (!isOneOf(error, NOT_KNOWN, [501])) throw explained(error, `${place}/${name}`);
    }
    report(`${place}: the server does not know "If-None-Match: *", so each write looks for its object first`);
    return false;
  }

  /** What was found out stays; what could not be found out is asked again. */
  function findOut(): Promise<boolean> {
    condition ??= knowsCondition().catch((error: unknown) => {
      condition = undefined;
      throw error;
    });
    return condition;
  }

  async function has(name: string): Promise<boolean> {
    return again(() => client.send(new S3.HeadObjectCommand({ Bucket: bucket, Key: keyOf(name) }))).then(
      () => true,
      (error: unknown) => (isOneOf(error, ['NotFound', 'NoSuchKey'], [404]) ? false : explain(name)(error)),
    );
  }

  function within(folder: string): Objects {
    const inside = (name: string) => `${folder}/${name}`;
    return {
      place: `${place}/${folder}`,
      async put(short, bytes) {
        const name = inside(short);
        const once = await findOut();
        if (!once && (await has(name))) return;
        await write(name, bytes, once).catch(explain(name));
      },
      async get(short, range) {
        const name = inside(short);
        if (range !== undefined && range.end <= range.start) return (await has(name)) ? new Uint8Array(0) : undefined;
        const Range = range === undefined ? {} : { Range: `bytes=${range.start}-${range.end - 1}` };
        try {
          return await again(async () => {
            const answer = await client.send(new S3.GetObjectCommand({ Bucket: bucket, Key: keyOf(name), ...Range }));
            return (await answer.Body?.transformToByteArray()) ?? new Uint8Array(0);
          });
        } catch (error) {
          if (isOneOf(error, ['NoSuchKey', 'NotFound'], [])) return undefined;
          if (isOneOf(error, ['InvalidRange'], [416])) return new Uint8Array(0);
          return explain(name)(error);
        }
      },
      has: (short) => has(inside(short)),
      async copy(from, to) {
        const CopySource = [bucket, ...keyOf(inside(from)).split('/')].map(encodeURIComponent).join('/');
        const Key = keyOf(inside(to));
        const command = () => new S3.CopyObjectCommand({ Bucket: bucket, Key, CopySource });
        await again(() => client.send(command())).catch((error: unknown) => {
          if (!isOneOf(error, ['NoSuchKey', 'NotFound'], [])) explain(inside(from))(error);
        });
      },
    };
  }

  return {
    within,
    async probe() {
      await again(() => client.send(new S3.HeadBucketCommand({ Bucket: bucket }))).catch((error: unknown) => {
        throw explained(error, place);
      });
      await findOut();
    },
    close: () => client.destroy(),
  };
}

interface Said {
  name?: string;
  Code?: string;
  message?: string;
  code?: string;
  $metadata?: { httpStatusCode?: number };
}

function isOneOf(error: unknown, names: readonly string[], statuses: readonly number[]): boolean {
  const { name = '', Code = '', $metadata } = (error ?? {}) as Said;
  return names.includes(name) || names.includes(Code) || statuses.includes($metadata?.httpStatusCode ?? 0);
}

/** A server's no is the operator's to mend; all else may pass. Two who write at once: one of them has to again. */
function mayPass(error: unknown): boolean {
  const { name, $metadata } = (error ?? {}) as Said;
  const status = $metadata?.httpStatusCode ?? 0;
  if (name === 'CredentialsProviderError') return false;
  return !((status >= 400 && status < 500 && ![408, 409, 429].includes(status)) || status === 501);
}

function explained(error: unknown, where: string): PerdureError {
  const { name = 'Error', Code, message = '', code, $metadata } = (error ?? {}) as Said;
  const status = $metadata?.httpStatusCode ?? 0;
  if (!mayPass(error)) {
    const credentials = name === 'CredentialsProviderError';
    const said = credentials ? 'there are no credentials' : `${Code ?? name} (HTTP ${status})`;
    return new PerdureError('storage_unusable', `${where} cannot be used: ${said}`, { cause: error });
  }
  const why = [code ?? Code ?? name, message].filter((part) => part !== '').join(': ');
  return new PerdureError('storage_unreachable', `${where} gives no answer that is of use: ${why}`, { cause: error });
}
