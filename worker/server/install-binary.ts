import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Long, because a cold start of a 250 MB binary on a busy machine is slow; bounded, because a hang must not be ours. */
const PROBE_TIMEOUT_MS = 30_000;

/** Runs `--version`; returns what it prints, or throws why this file is no Temporal CLI that can run here. */
export async function probeBinary(path: string): Promise<string> {
  let printed: string;
  try {
    printed = (await run(path, ['--version'], { timeout: PROBE_TIMEOUT_MS })).stdout.trim();
  } catch (error) {
    throw new Error(`${path} --version does not run: ${firstLine(error)}`);
  }
  // Other programs are called `temporal` too, and only a CLI with a server in it can `server start-dev`.
  if (!/^temporal version .*\(.*server/i.test(printed)) {
    throw new Error(`${path} is not the Temporal CLI: --version prints "${printed.slice(0, 80)}"`);
  }
  return printed;
}

/**
 * Lets `make` produce the binary in a folder of its own beside the cache entry, and moves it in by one rename:
 * two processes may install at once, and neither ever sees a half-written file.
 */
export async function installBinary(target: string, make: (staging: string) => Promise<string>): Promise<string> {
  const cacheDir = dirname(dirname(target));
  await mkdir(dirname(target), { recursive: true });
  const staging = await mkdtemp(join(cacheDir, '.install-'));
  try {
    const made = await make(staging);
    await chmod(made, 0o755);
    const version = await probeBinary(made);
    await flush(made);
    await rename(made, target).catch(async (error: unknown) => {
      // Windows refuses to replace a binary that runs: then another process was first, and its file serves as well.
      await probeBinary(target).catch(() => {
        throw error;
      });
    });
    return version;
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

/** Without this a power cut after the rename can leave a file of zeros under the final name. */
async function flush(path: string): Promise<void> {
  const file = await open(path, 'r+');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

function firstLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? '';
}
