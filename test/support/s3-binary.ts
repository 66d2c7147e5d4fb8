/**
 * The S3 server of the tests, versitygw: on the PATH, or built once with Go into the user's cache folder. Rejects with
 * what is missing where it cannot be had.
 */
import { execFile, spawn } from 'node:child_process';
import { access, constants, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { userCacheDir } from '../../worker/server-binary.js';

const VERSION = '1.8.0';
const PACKAGE = `github.com/versity/versitygw/cmd/versitygw@v${VERSION}`;
const PROBE_TIMEOUT_MS = 30_000;
const BUILD_TIMEOUT_MS = 20 * 60_000;
const PROGRESS_EVERY_MS = 10_000;
const KEPT_LINES = 5;

const run = promisify(execFile);

export async function findS3Server(
  report: (line: string) => void,
  { env = process.env, cache = join(userCacheDir(env), 'perdure', 'versitygw', VERSION) } = {},
): Promise<string> {
  if (await runs('versitygw', env)) return 'versitygw';
  const cached = join(cache, 'versitygw');
  if ((await exists(cached)) && (await runs(cached, env))) return cached;
  try {
    await build(cached, env, report);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(
      `There is no S3 server for the tests: no versitygw on the PATH, and it cannot be built: ${why}\nInstall Go 1.24 or later, or put versitygw ${VERSION} on the PATH.`,
      { cause: error },
    );
  }
  return cached;
}

/** In a folder of its own, moved in by one rename: two processes may build at once, and neither sees half of it. */
async function build(cached: string, env: NodeJS.ProcessEnv, report: (line: string) => void): Promise<void> {
  await mkdir(dirname(cached), { recursive: true });
  const staging = await mkdtemp(join(dirname(cached), '.build-'));
  const began = Date.now();
  const seconds = () => Math.round((Date.now() - began) / 1_000);
  let [modules, packages] = [0, 0];
  const last: string[] = [];
  report(`building versitygw ${VERSION}, an S3 server, with Go into ${dirname(cached)}: some minutes, once`);
  const child = spawn('go', ['install', '-v', PACKAGE], {
    env: { ...env, GOBIN: staging },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  createInterface({ input: child.stderr }).on('line', (line) => {
    if (line.startsWith('go: downloading ')) modules += 1;
    else if (/^[\w./~-]+$/.test(line)) packages += 1;
    else last.push(line);
    if (last.length > KEPT_LINES) last.shift();
  });
  const tick = () => report(`building versitygw: ${seconds()} s, ${modules} modules, ${packages} packages compiled`);
  const ticker = setInterval(tick, PROGRESS_EVERY_MS);
  const kill = () => void child.kill('SIGKILL');
  const deadline = setTimeout(kill, BUILD_TIMEOUT_MS);
  process.once('exit', kill);
  try {
    await new Promise<void>((resolve, reject) => {
      child.once('error', (error: NodeJS.ErrnoException) =>
        reject(new Error(error.code === 'ENOENT' ? '`go` is not on the PATH' : error.message)),
      );
      child.once('close', (code, signal) =>
        code === 0 ? resolve() : reject(new Error([`go install ended with ${signal ?? code}`, ...last].join('\n'))),
      );
    });
    const made = join(staging, 'versitygw');
    if (!(await runs(made, env))) throw new Error('what Go built does not run');
    await rename(made, cached);
    report(`built versitygw ${VERSION} in ${seconds()} s`);
  } finally {
    clearInterval(ticker);
    clearTimeout(deadline);
    process.off('exit', kill);
    await rm(staging, { recursive: true, force: true });
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

async function runs(path: string, env: NodeJS.ProcessEnv): Promise<boolean> {
  return run(path, ['--version'], { env, timeout: PROBE_TIMEOUT_MS }).then(
    ({ stdout }) => /Version\s*:/.test(stdout),
    () => false,
  );
}
