/**
 * Redis 7 for the tests: the `redis-server` on the PATH, or Debian's packages, unpacked once into the user's cache folder.
 * Where neither can be had, the tests that want it fail.
 */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { userCacheDir } from '../../worker/server-binary.js';

const run = promisify(execFile);
/** The server, its command line, and what they load that a plain Debian has not. */
const PACKAGES = ['redis-server', 'redis-tools', 'libjemalloc2', 'liblzf1', 'libatomic1'];
/** Also for the hook of a test that fetches it. */
export const FETCH_TIMEOUT_MS = 5 * 60_000;
const PROBE_TIMEOUT_MS = 30_000;

export interface RedisBinary {
  path: string;
  env: NodeJS.ProcessEnv;
  version: string;
}

const found = new Map<string, Promise<RedisBinary>>();

export function findRedis(env: NodeJS.ProcessEnv = process.env): Promise<RedisBinary> {
  const key = `${env['PATH'] ?? ''} ${userCacheDir(env)}`;
  const known = found.get(key) ?? find(env);
  found.set(key, known);
  return known;
}

async function find(env: NodeJS.ProcessEnv): Promise<RedisBinary> {
  const onPath = await probe('redis-server', env).catch(() => undefined);
  if (onPath !== undefined) return onPath;
  const folder = join(userCacheDir(env), 'perdure', 'redis', 'debian');
  const cached = await unpacked(folder, env).catch(() => undefined);
  return cached ?? (await fetchInto(folder, env));
}

/** Throws why it cannot be used. */
async function probe(path: string, env: NodeJS.ProcessEnv): Promise<RedisBinary> {
  const { stdout } = await run(path, ['--version'], { env, timeout: PROBE_TIMEOUT_MS });
  const version = /\bv=(\d+\.\d+\.\d+)/.exec(stdout)?.[1];
  if (version === undefined || Number(version.split('.')[0]) < 7) {
    throw new Error(`${path} is no Redis 7 or later: --version prints "${stdout.trim()}"`);
  }
  return { path, env, version };
}

async function unpacked(folder: string, env: NodeJS.ProcessEnv): Promise<RedisBinary> {
  const libraries = join(folder, 'usr', 'lib');
  const machines = (await readdir(libraries)).map((name) => join(libraries, name));
  return probe(join(folder, 'usr', 'bin', 'redis-server'), { ...env, LD_LIBRARY_PATH: machines.join(':') });
}

/** In a folder of its own, moved in by one rename: two processes may fetch at once, and neither sees half of it. */
async function fetchInto(folder: string, env: NodeJS.ProcessEnv): Promise<RedisBinary> {
  await mkdir(dirname(folder), { recursive: true });
  const staging = await mkdtemp(join(dirname(folder), '.fetch-'));
  try {
    report(`fetching Redis from Debian's packages into ${folder}: some 1.5 MB, once`);
    await download(staging, env);
    const packages = (await readdir(staging)).filter((name) => name.endsWith('.deb'));
    for (const name of packages) await step('dpkg-deb', ['-x', name, 'root'], staging, env);
    const made = await unpacked(join(staging, 'root'), env);
    await rm(folder, { recursive: true, force: true });
    await rename(join(staging, 'root'), folder).catch((error: NodeJS.ErrnoException) => {
      // Another process was quicker.
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
    });
    report(`Redis ${made.version} is in ${folder}`);
    return await unpacked(folder, env);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(
      `There is no Redis for the tests: none on the PATH (redis-server, version 7 or later), and Debian's packages cannot be had: ${why}\nInstall Redis 7 so that redis-server is on the PATH, or run on Debian or Ubuntu with apt-get.`,
      { cause: error },
    );
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

async function download(staging: string, env: NodeJS.ProcessEnv): Promise<void> {
  const get = ['-q', 'download', ...PACKAGES];
  const known = await step('apt-get', get, staging, env).then(
    () => true,
    () => false,
  );
  if (known) return;
  // The machine has no lists of packages, or old ones: fetched for this only, which needs no rights.
  report("fetching the lists of Debian's packages first");
  const lists = join(staging, 'apt');
  await mkdir(join(lists, 'lists', 'partial'), { recursive: true });
  await mkdir(join(lists, 'archives', 'partial'), { recursive: true });
  const own = ['-o', `Dir::State::lists=${lists}/lists`, '-o', `Dir::Cache=${lists}`];
  await step('apt-get', [...own, '-q', 'update'], staging, env);
  await step('apt-get', [...own, ...get], staging, env);
}

async function step(program: string, args: string[], cwd: string, env: NodeJS.ProcessEnv): Promise<void> {
  await run(program, args, { cwd, env, timeout: FETCH_TIMEOUT_MS }).catch((error: unknown) => {
    const { message, stderr = '' } = error as Error & { stderr?: string };
    const why = stderr.trim().split('\n').slice(-3).join('\n') || message;
    throw new Error(`\`${program} ${args.join(' ')}\` failed: ${why}`, { cause: error });
  });
}

function report(line: string): void {
  process.stderr.write(`${line}\n`);
}
