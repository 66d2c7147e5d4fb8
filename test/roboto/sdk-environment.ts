/**
 * The published Python SDK, in a virtual environment per version: made when it is first wanted, and kept in the user's
 * cache folder. Without python3 or PyPI it cannot be made, and then the tests that want it fail.
 */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

/** Of the seed's age, and the newest. */
export const SDK_VERSIONS = ['0.47.0', '0.62.0'] as const;
export type SdkVersion = (typeof SDK_VERSIONS)[number];

const run = promisify(execFile);
const PROBE_TIMEOUT_MS = 60_000;
/** Also for the hook of a test that makes it: a download on a slow day. */
export const INSTALL_TIMEOUT_MS = 10 * 60_000;
const made = new Map<SdkVersion, Promise<string>>();

/** The interpreter that has the SDK. */
export function sdkPython(version: SdkVersion): Promise<string> {
  const known = made.get(version) ?? findOrMakeSdk(version, process.env);
  made.set(version, known);
  return known;
}

export async function findOrMakeSdk(version: SdkVersion, env: NodeJS.ProcessEnv): Promise<string> {
  const cache = env['XDG_CACHE_HOME'] || join(env['HOME'] ?? homedir(), '.cache');
  const folder = join(cache, 'perdure', 'roboto', version);
  if (!(await isGood(folder, version))) await make(folder, version, env);
  return pythonIn(folder);
}

/** In a folder of its own, moved in by one rename: two processes may make it at once, and neither sees half of it. */
async function make(folder: string, version: SdkVersion, env: NodeJS.ProcessEnv): Promise<void> {
  await mkdir(dirname(folder), { recursive: true });
  const staging = await mkdtemp(join(dirname(folder), '.install-'));
  const environment = join(staging, 'new');
  try {
    report(`making ${folder}, once`);
    await step('python3', ['-m', 'venv', environment], env, 'install Python 3.10 or later with its venv module');
    report(`installing roboto==${version} from PyPI`);
    const args = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', `roboto==${version}`];
    await step(pythonIn(environment), args, env, 'it must come from PyPI, or a mirror that pip is configured for');
    // One that is there is broken (its interpreter was removed), or another process was faster.
    if (!(await isGood(folder, version))) {
      await rename(folder, join(staging, 'broken')).catch(unlessMissing);
      await rename(environment, folder).catch(async (error: unknown) => {
        if (!(await isGood(folder, version))) throw error;
      });
    }
    report(`roboto ${version} is in ${folder}`);
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

async function step(program: string, args: string[], env: NodeJS.ProcessEnv, advice: string): Promise<void> {
  await run(program, args, { env, timeout: INSTALL_TIMEOUT_MS }).catch((error: unknown) => {
    const { message, stderr = '' } = error as Error & { stderr?: string };
    const why = stderr.trim().split('\n').slice(-5).join('\n') || message;
    throw new Error(`\`${program} ${args.join(' ')}\` failed; ${advice}.\n${why}`, { cause: error });
  });
}

async function isGood(folder: string, version: SdkVersion): Promise<boolean> {
  const print = "import importlib.metadata; print(importlib.metadata.version('roboto'))";
  const probe = run(pythonIn(folder), ['-c', print], { timeout: PROBE_TIMEOUT_MS });
  return probe.then(
    ({ stdout }) => stdout.trim() === version,
    () => false,
  );
}

function pythonIn(folder: string): string {
  return process.platform === 'win32' ? join(folder, 'Scripts', 'python.exe') : join(folder, 'bin', 'python');
}

function report(line: string): void {
  process.stderr.write(`${line}\n`);
}

function unlessMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}
