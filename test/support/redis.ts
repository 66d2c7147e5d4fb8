/** A Redis of a test's own, on a free port, which it can kill, pause, empty and start again. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { findRedis } from './redis-binary.js';

const START_TIMEOUT_MS = 20_000;

export interface RedisServer {
  readonly port: number;
  readonly url: string;
  /** For what a test wants to know or to do there: a connection of its own. */
  readonly admin: Redis;
  pid(): number;
  /** SIGSTOP: it is there, and says nothing. */
  pause(): void;
  resume(): void;
  /** SIGKILL, and waits until it is gone. */
  kill(): Promise<void>;
  /** After a kill: on the same port, empty. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** `args` as on its command line: `['--cluster-enabled', 'yes']`. */
export async function startRedis(args: readonly string[] = []): Promise<RedisServer> {
  const binary = await findRedis();
  const [port, folder] = [await freePort(), await mkdtemp(join(tmpdir(), 'perdure-redis-'))];
  let child: ChildProcess | undefined;
  let exited: Promise<unknown> = Promise.resolve();
  const onExit = () => child?.kill('SIGKILL');
  process.once('exit', onExit);

  async function start(): Promise<void> {
    const own = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', folder];
    const started = spawn(binary.path, [...own, ...args], { env: binary.env, stdio: ['ignore', 'pipe', 'pipe'] });
    child = started;
    let printed = '';
    exited = new Promise((resolve) => started.once('close', resolve));
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => fail(`was not ready after ${START_TIMEOUT_MS / 1_000} s`), START_TIMEOUT_MS);
      const fail = (why: string) => {
        clearTimeout(timer);
        reject(new Error(`Redis ${binary.version} on port ${port} ${why}. It printed:\n${printed}`));
      };
      started.once('error', (error) => fail(`did not start: ${error.message}`));
      started.once('exit', (code) => fail(`ended with ${code}`));
      started.stderr.on('data', (text: Buffer) => (printed += text.toString()));
      started.stdout.on('data', (text: Buffer) => {
        printed += text.toString();
        if (!printed.includes('Ready to accept connections')) return;
        clearTimeout(timer);
        resolve();
      });
    });
    // What it prints from here on is of no interest, and must not fill the pipe.
    started.stdout.removeAllListeners('data').resume();
  }

  await start();
  const url = `redis://127.0.0.1:${port}`;
  const admin = new Redis(url, { retryStrategy: () => 50, maxRetriesPerRequest: null });
  admin.on('error', () => {});
  return {
    port,
    url,
    admin,
    pid: () => child?.pid ?? 0,
    pause: () => void child?.kill('SIGSTOP'),
    resume: () => void child?.kill('SIGCONT'),
    async kill() {
      child?.kill('SIGKILL');
      await exited;
    },
    start,
    async stop() {
      admin.disconnect();
      child?.kill('SIGKILL');
      await exited;
      process.off('exit', onExit);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
