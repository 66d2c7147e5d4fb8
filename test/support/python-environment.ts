/**
 * Published Python packages, in a virtual environment for each choice of them: made when it is first wanted, and kept in
 * the user's cache folder. Without python3 or PyPI it cannot be made, and then the tests that want it fail.
 */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

export interface PythonPackages {
  /** Of the package that the tests are about; the environment is in a folder of these two names. */
  name: string;
  version: string;
  /** What pip is told to install, one call after another. */
  installs: readonly (readonly string[])[];
}

const run = promisify(execFile);
const PROBE_TIMEOUT_MS = 60_000;
/** Also for the hook of a test that makes it: a download on a slow day. */
export const INSTALL_TIMEOUT_MS = 10 * 60_000;

/** The interpreter that has the packages. */
export async function findOrMakePython(packages: PythonPackages, env: NodeJS.ProcessEnv): Promise<string> {
  const cache = env['XDG_CACHE_HOME'] || join(env['HOME'] ?? homedir(), '.cache');
  const folder = join(cache, 'perdure', packages.name, packages.version);
  if (!(await isGood(folder, packages))) await make(folder, packages, env);
  return pythonIn(folder);
}

/** In a folder of its own, moved in by one rename: two processes may make it at once, and neither sees half of it. */
async function make(folder: string, packages: PythonPackages, env: NodeJS.ProcessEnv): Promise<void> {
  const { name, version, installs } = packages;
  await mkdir(dirname(folder), { recursive: true });
  const staging = await mkdtemp(join(dirname(folder), '.install-'));
  const environment = join(staging, 'new');
  try {
    report(`making ${folder}, once`);
    await step('python3', ['-m', 'venv', environment], env, 'install Python 3.10 or later with its venv module');
    report(`installing ${name}==${version} from PyPI`);
    for (const wanted of installs) {
      const args = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...wanted];
      await step(pythonIn(environment), args, env, 'it must come from PyPI, or a mirror that pip is configured for');
    }
    // One that is there is broken (its interpreter was removed), or another process was faster.
    if (!(await isGood(folder, packages))) {
      await rename(folder, join(staging, 'broken')).catch(unlessMissing);
      await rename(environment, folder).catch(async (error: unknown) => {
        if (!(await isGood(folder, packages))) throw error;
      });
    }
    report(`${name} ${version} is in ${folder}`);
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

async function isGood(folder: string, { name, version }: PythonPackages): Promise<boolean> {
  const print = `import importlib.metadata; print(importlib.metadata.version('${name}'))`;
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
