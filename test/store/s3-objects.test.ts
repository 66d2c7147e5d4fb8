/** What is special about a bucket: servers that lack a condition, calls that fail, places that are not there. */
import { createServer, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, inject, it, onTestFinished, vi } from 'vitest';
import { loadS3 } from '../../store/objects/load-s3.js';
import { openS3 } from '../../store/objects/s3-objects.js';
import { storageFromEnv } from '../../store/storage-settings.js';
import { startFlakyBucket } from '../support/flaky-bucket.js';
import { placeOf } from './storages.js';

describe.skipIf(inject('s3') === null)('a bucket', () => {
  it('takes each object once: the first one stays, whoever writes, and nothing is said', async () => {
    const { options, said } = await placeOf('a bucket');
    const report = (line: string) => void said.push(line);
    const [one, other] = await Promise.all([open(options, report), open(options, report)]);
    await one.put('x/y', Buffer.from('first'));
    await other.put('x/y', Buffer.from('second'));
    expect(text(await other.get('x/y'))).toBe('first');
    const racing = Array.from({ length: 20 }, (_item, n) => one.put('race', Buffer.from(`writer ${n}`)));
    await Promise.all(racing);
    expect(text(await one.get('race'))).toMatch(/^writer \d+$/);
    expect(said).toEqual([]);
  });

  it.each([
    ['does not know the condition', 501],
    ['knows no condition, and does not say so', 200],
  ])('of a server that %s is found out once, said once, and looks before it writes', async (_what, status) => {
    const endpoint = await withoutCondition(inject('s3')?.endpoint ?? '', status);
    const { options, said } = await placeOf('a bucket', endpoint);
    const objects = await open(options, (line) => said.push(line));
    await Promise.all([objects.put('a', Buffer.from('1')), objects.put('b', Buffer.from('2'))]);
    await objects.put('a', Buffer.from('3'));
    expect(text(await objects.get('a'))).toBe('1');
    expect(said).toEqual([expect.stringMatching(/^s3:\/\/t-.*does not know "If-None-Match: \*"/)]);
  });

  it('that fails one call in five loses nothing and doubles nothing', async () => {
    const flaky = await startFlakyBucket(inject('s3')?.endpoint ?? '', 5);
    onTestFinished(() => flaky.stop());
    const place = await placeOf('a bucket, encrypted', flaky.endpoint);
    const { artefacts } = await place.open();
    const contents = Array.from({ length: 60 }, (_item, n) => `content ${n % 40} `.repeat(1 + (n % 7) * 5_000));
    const infos = await Promise.all(contents.map((content) => artefacts.of('run').put(content, 'text/plain')));
    const texts = await Promise.all(infos.map(({ id }) => artefacts.of('run').read(id).then(text)));
    expect(texts).toEqual(contents);
    expect(await place.names()).toHaveLength(2 * new Set(contents).size);
    expect(flaky.failed()).toBeGreaterThan(30);
  });

  it('that is not there, or not ours, is an error that names it and what to check', async () => {
    const { options } = await placeOf('a bucket');
    const { s3 = { bucket: '' } } = options;
    const gone = await openS3({ ...s3, bucket: 'nobody-has-this-one' });
    const missing = { code: 'storage_unusable', message: expect.stringContaining('s3://nobody-has-this-one/team') };
    await expect(gone.probe()).rejects.toMatchObject(missing);
    await expect(gone.within('a').put('b', Buffer.from('c'))).rejects.toMatchObject(missing);
    await expect(gone.within('a').get('b')).rejects.toMatchObject(missing);
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'not-the-secret-of-the-server');
    const refused = await openS3(s3);
    const error = await refused.probe().catch((reason: unknown) => reason as Error);
    expect(error).toMatchObject({ code: 'storage_unusable', message: expect.stringContaining(`s3://${s3.bucket}`) });
    expect((error as Error).message).not.toContain('not-the-secret');
  });

  it('of a server that is down is an error that may pass', async () => {
    const { options } = await placeOf('a bucket', 'http://127.0.0.1:1');
    await expect((await open(options)).get('x')).rejects.toMatchObject({
      code: 'storage_unreachable',
      message: expect.stringMatching(/s3:\/\/.*ECONNREFUSED/),
    });
  });

  it('finds what was kept on files before, and copies it over', async () => {
    const { options, open: openPlace } = await placeOf('a bucket');
    const files = (await openPlace({ s3: undefined })).artefacts;
    const { id } = await files.of('run').put('from before', 'text/plain');
    const { artefacts } = await openPlace();
    expect(text(await artefacts.of('run').read(id))).toBe('from before');
    await artefacts.copy([id], 'run', 'fork');
    expect(text(await artefacts.of('fork').read(id))).toBe('from before');
    expect(await files.of('fork').info(id)).toBeUndefined();
    expect(options.s3).toBeDefined();
  });
});

describe('without the package', () => {
  it('the error names it, and the line to type', async () => {
    const missing = () => Promise.reject(Object.assign(new Error('none'), { code: 'ERR_MODULE_NOT_FOUND' }));
    await expect(loadS3(missing)).rejects.toMatchObject({
      code: 'invalid_config',
      message: expect.stringContaining('type "npm install @aws-sdk/client-s3@3"'),
    });
  });
});

describe('the environment', () => {
  const key = Buffer.alloc(32, 7).toString('base64');

  it('names a bucket and keys, or neither', () => {
    expect(storageFromEnv({})).toEqual({});
    expect(storageFromEnv({ PERDURE_S3_BUCKET: '', PERDURE_ENCRYPTION_KEYS: '' })).toEqual({});
    expect(
      storageFromEnv({
        PERDURE_S3_BUCKET: 'acme-runs',
        PERDURE_S3_PREFIX: 'prod',
        PERDURE_S3_ENDPOINT: 'https://storage.example',
        PERDURE_S3_REGION: 'eu-central-1',
        PERDURE_S3_PATH_STYLE: 'off',
        PERDURE_ENCRYPTION_KEYS: `k2:${key}, k1:${key}`,
      }),
    ).toEqual({
      s3: {
        bucket: 'acme-runs',
        prefix: 'prod',
        endpoint: 'https://storage.example',
        region: 'eu-central-1',
        path_style: false,
      },
      keys: [
        { id: 'k2', key },
        { id: 'k1', key },
      ],
    });
  });

  it.each([
    [{ PERDURE_S3_ENDPOINT: 'http://minio:9000' }, /PERDURE_S3_BUCKET is not/],
    [{ PERDURE_S3_BUCKET: 'No/Name' }, /"No\/Name" is no name of a bucket/],
    [{ PERDURE_S3_BUCKET: 'acme', PERDURE_S3_ENDPOINT: 'minio:9000' }, /PERDURE_S3_ENDPOINT is "minio:9000"/],
    [{ PERDURE_S3_BUCKET: 'acme', PERDURE_S3_PATH_STYLE: 'yes' }, /"on" or "off"/],
    [{ PERDURE_ENCRYPTION_KEYS: 'c2VjcmV0' }, /entry 1 is not like id:base64/],
    [{ PERDURE_ENCRYPTION_KEYS: 'k1:c2VjcmV0' }, /the key "k1" must have 32 bytes/],
    [{ PERDURE_ENCRYPTION_KEYS: `k 1:${key}` }, /the id of key 1/],
    [{ PERDURE_ENCRYPTION_KEYS: `k1:${key},k1:${key}` }, /"k1" is there twice/],
    [{ PERDURE_ENCRYPTION_KEYS: ',' }, /there is none/],
  ])('is refused where it makes no sense, and no key is repeated: %j', (env, message) => {
    const read = () => storageFromEnv(env);
    expect(read).toThrow(message);
    expect(read).toThrow(expect.objectContaining({ code: 'invalid_config' }));
    expect(read).not.toThrow(/c2VjcmV0/);
  });
});

async function open(
  { s3 = { bucket: '' } }: Awaited<ReturnType<typeof placeOf>>['options'],
  report?: (line: string) => void,
) {
  const bucket = await openS3(s3, report);
  onTestFinished(() => bucket.close());
  return bucket.within('test');
}

/** A server before the server, which takes no conditions: refused, or passed over in silence. */
async function withoutCondition(target: string, status: number): Promise<string> {
  const server = createServer((request, response) => {
    if (request.headers['if-none-match'] !== undefined && status === 501) {
      request.resume();
      const body = '<Error><Code>NotImplemented</Code><Message>A header you provided is not known.</Message></Error>';
      return void response.writeHead(501, { 'content-type': 'application/xml' }).end(body);
    }
    // It is part of what was signed, so the server behind is asked with it, and its refusal is not passed on.
    const onward = send(
      new URL(request.url ?? '/', target),
      { method: request.method ?? 'GET', headers: request.headers },
      (answer) => {
        const hidden = answer.statusCode === 412;
        if (hidden) {
          answer.resume();
          return void response.writeHead(200).end();
        }
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      },
    );
    request.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function text(bytes: Uint8Array | undefined): string {
  return Buffer.from(bytes ?? []).toString('utf8');
}
