/** A real S3 server on a free port of loopback, over a folder of its own that goes when it stops. */
import { spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CreateBucketCommand, DeleteObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { findS3Server } from './s3-binary.js';

const START_TIMEOUT_MS = 30_000;

export interface S3Server {
  endpoint: string;
  accessKeyId: string;
  secretAccessKey: string;
  /** Its buckets are folders here, and objects files. */
  folder: string;
  stop(): Promise<void>;
}

export async function startS3(report: (line: string) => void): Promise<S3Server> {
  const binary = await findS3Server(report);
  const home = await mkdtemp(join(tmpdir(), 'perdure-s3-'));
  const folder = join(home, 'buckets');
  const [port, accessKeyId, secretAccessKey] = [await freePort(), 'perdure', randomBytes(16).toString('hex')];
  // Beside the objects, since not every file system keeps extended attributes.
  const sidecar = join(home, 'sidecar');
  for (const path of [folder, sidecar]) await mkdir(path, { mode: 0o700 });
  const args = ['--port', `127.0.0.1:${port}`, '--quiet', 'posix', '--sidecar', sidecar, folder];
  const child = spawn(binary, args, {
    env: { ...process.env, ROOT_ACCESS_KEY: accessKeyId, ROOT_SECRET_KEY: secretAccessKey },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (text: Buffer) => void (said = (said + text.toString()).slice(-4_000)));
  let ended = false;
  const exited = new Promise<void>((resolve) => {
    const end = () => {
      ended = true;
      resolve();
    };
    child.once('error', end);
    child.once('exit', end);
  });
  const kill = () => void child.kill('SIGKILL');
  process.once('exit', kill);
  const server: S3Server = {
    endpoint: `http://127.0.0.1:${port}`,
    accessKeyId,
    secretAccessKey,
    folder,
    async stop() {
      kill();
      await exited;
      process.off('exit', kill);
      await rm(home, { recursive: true, force: true });
    },
  };
  for (const deadline = Date.now() + START_TIMEOUT_MS; ;) {
    const answers = await fetch(server.endpoint).then(
      () => true,
      () => false,
    );
    if (answers) break;
    if (ended || Date.now() > deadline) {
      await server.stop();
      throw new Error(`versitygw did not start. It said:\n${said}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  report(`an S3 server is up on 127.0.0.1:${port}`);
  return server;
}

/** Undefined where it cannot be had, and nobody insists: what is missing is said. */
export async function startS3IfPossible(report: (line: string) => void): Promise<S3Server | undefined> {
  try {
    return await startS3(report);
  } catch (error) {
    if (process.env['PERDURE_TEST_S3'] === 'required') throw error;
    report(`${error instanceof Error ? error.message : String(error)}\nThe tests that need S3 are skipped.`);
    return undefined;
  }
}

export type S3Access = Pick<S3Server, 'endpoint' | 'accessKeyId' | 'secretAccessKey'>;

function clientOf({ endpoint, accessKeyId, secretAccessKey }: S3Access): S3Client {
  const credentials = { accessKeyId, secretAccessKey };
  return new S3Client({ endpoint, credentials, region: 'us-east-1', forcePathStyle: true });
}

/** A new, empty bucket; its name. */
export async function createBucket(server: S3Access): Promise<string> {
  const name = `t-${randomUUID()}`;
  const client = clientOf(server);
  await client.send(new CreateBucketCommand({ Bucket: name }));
  client.destroy();
  return name;
}

export async function deleteObject(server: S3Access, bucket: string, key: string): Promise<void> {
  const client = clientOf(server);
  await client.send(new DeleteObjectCommand({ Bucket: bucket, Key: key }));
  client.destroy();
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
