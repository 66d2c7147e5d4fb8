import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Report } from './report.js';

const PROGRESS_EVERY_MS = 10_000;
/** It takes 3 to 4 minutes on two cores; this bound is for a module proxy that never answers. */
const BUILD_TIMEOUT_MS = 30 * 60_000;
const KEPT_LINES = 8;

export interface BuildOptions {
  version: string;
  env: NodeJS.ProcessEnv;
  staging: string;
  report: Report;
  progressEveryMs?: number;
}

export const goPackage = (version: string): string => `github.com/temporalio/cli/cmd/temporal@v${version}`;

/** `go install` of the pinned version into `staging`; returns the path of the binary. */
export async function buildBinary(options: BuildOptions): Promise<string> {
  const { version, env, staging, report, progressEveryMs = PROGRESS_EVERY_MS } = options;
  const startedAt = Date.now();
  let modules = 0;
  let packages = 0;
  const lastLines: string[] = [];

  report(`building temporal ${version} with Go, which takes a few minutes the first time`);
  // -v prints a line per compiled package: without it a build of four minutes looks dead.
  const child = spawn('go', ['install', '-v', goPackage(version)], {
    env: { ...env, GOBIN: staging },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  createInterface({ input: child.stderr }).on('line', (line) => {
    if (line.startsWith('go: downloading ')) modules += 1;
    else if (/^[\w./~-]+$/.test(line)) packages += 1;
    else lastLines.push(line);
    if (lastLines.length > KEPT_LINES) lastLines.shift();
  });
  const seconds = (): number => Math.round((Date.now() - startedAt) / 1000);
  const ticker = setInterval(() => {
    report(
      `building temporal ${version}: ${seconds()} s, ${modules} modules downloaded, ${packages} packages compiled`,
    );
  }, progressEveryMs);
  const deadline = setTimeout(() => child.kill('SIGKILL'), BUILD_TIMEOUT_MS);
  const onExit = (): void => void child.kill('SIGKILL');
  process.once('exit', onExit);

  try {
    await new Promise<void>((resolve, reject) => {
      child.once('error', (error: NodeJS.ErrnoException) => {
        reject(new Error(error.code === 'ENOENT' ? '`go` is not on the PATH' : error.message));
      });
      child.once('close', (code, signal) => {
        if (code === 0) return resolve();
        const how = signal ? `was ended by ${signal} after ${seconds()} s` : `failed with exit code ${code}`;
        reject(new Error([`go install ${how}`, ...lastLines].join('\n')));
      });
    });
  } finally {
    clearInterval(ticker);
    clearTimeout(deadline);
    process.removeListener('exit', onExit);
  }
  report(`built temporal ${version} in ${seconds()} s`);
  return join(staging, process.platform === 'win32' ? 'temporal.exe' : 'temporal');
}
