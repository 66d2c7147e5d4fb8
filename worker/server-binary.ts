/**
 * Finds the `temporal` binary that the embedded server runs, or makes it: on the PATH, in the cache, by download,
 * by a Go build. Each way says what it does; when all fail, the error says why each did and how to install it.
 */
import { access, constants } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { buildBinary, goPackage } from './server/build-binary.js';
import { downloadBinary } from './server/download-binary.js';
import { installBinary, probeBinary } from './server/install-binary.js';
import type { Report } from './server/report.js';

export const SERVER_CLI_VERSION = '1.5.1';
const DOWNLOAD_URL = 'https://temporal.download';
const FILE_NAME = process.platform === 'win32' ? 'temporal.exe' : 'temporal';

export interface FindServerBinaryOptions {
  env: NodeJS.ProcessEnv;
  report: Report;
  /** Where built and downloaded binaries are kept; the user's cache folder by default. */
  cacheDir?: string;
  downloadUrl?: string;
}

export interface ServerBinary {
  path: string;
  source: 'path' | 'cache' | 'download' | 'go';
  /** What `temporal --version` prints. */
  version: string;
}

interface Way {
  name: string;
  find: () => Promise<ServerBinary>;
}

export async function findServerBinary(options: FindServerBinaryOptions): Promise<ServerBinary> {
  const { env, report, downloadUrl = DOWNLOAD_URL } = options;
  const cacheDir = options.cacheDir ?? join(userCacheDir(env), 'perdure', 'temporal');
  const cached = join(cacheDir, SERVER_CLI_VERSION, FILE_NAME);
  const install = async (
    source: 'download' | 'go',
    make: (staging: string) => Promise<string>,
  ): Promise<ServerBinary> => ({
    path: cached,
    source,
    version: await installBinary(cached, make),
  });
  const version = SERVER_CLI_VERSION;

  const ways: Way[] = [
    { name: '`temporal` on the PATH', find: () => findOnPath(env) },
    { name: `the cached binary ${cached}`, find: () => findCached(cached) },
    {
      name: `the SDK's download of version ${version}`,
      find: () =>
        install('download', (staging) => downloadBinary({ baseUrl: downloadUrl, version, env, staging, report })),
    },
    {
      name: `go install ${goPackage(version)}`,
      find: () => install('go', (staging) => buildBinary({ version, env, staging, report })),
    },
  ];
  const failures: string[] = [];
  for (const way of ways) {
    try {
      const found = await way.find();
      report(`using ${found.path} (${found.version})`);
      return found;
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      report(`${way.name}: ${why.split('\n')[0]}`);
      failures.push(`  ${failures.length + 1}. ${way.name}: ${why.replaceAll('\n', '\n     ')}`);
    }
  }
  throw new Error(notFoundMessage(failures, cached));
}

async function findOnPath(env: NodeJS.ProcessEnv): Promise<ServerBinary> {
  // On Windows the variable is mostly spelled `Path`, and a copied environment is no longer case-insensitive.
  const path = env['PATH'] ?? env['Path'] ?? '';
  const rejected: string[] = [];
  for (const folder of path.split(delimiter).filter((entry) => entry !== '')) {
    const candidate = join(folder, FILE_NAME);
    if (!(await isExecutable(candidate))) continue;
    try {
      return { path: candidate, source: 'path', version: await probeBinary(candidate) };
    } catch (error) {
      rejected.push(error instanceof Error ? error.message : String(error));
    }
  }
  throw new Error(rejected.length > 0 ? rejected.join('\n') : 'there is none');
}

async function findCached(cached: string): Promise<ServerBinary> {
  if (!(await isExecutable(cached))) throw new Error('there is none yet');
  return { path: cached, source: 'cache', version: await probeBinary(cached) };
}

const isExecutable = (path: string): Promise<boolean> =>
  access(path, constants.X_OK).then(
    () => true,
    () => false,
  );

export function userCacheDir(env: NodeJS.ProcessEnv): string {
  const home = env['HOME'] ?? homedir();
  if (process.platform === 'darwin') return join(home, 'Library', 'Caches');
  if (process.platform === 'win32') return env['LOCALAPPDATA'] ?? join(homedir(), 'AppData', 'Local');
  // The XDG specification: an empty value counts as unset.
  return env['XDG_CACHE_HOME'] || join(home, '.cache');
}

function notFoundMessage(failures: string[], cached: string): string {
  return [
    `no Temporal server can be started: the temporal CLI ${SERVER_CLI_VERSION} was not found and could not be made. Tried:`,
    ...failures,
    'Do one of these, then run the command again:',
    '  - install the CLI so that `temporal` is on the PATH: `brew install temporal`, or an archive from',
    '    https://github.com/temporalio/cli/releases (see https://docs.temporal.io/cli#install)',
    `  - put its binary at ${cached}`,
    '  - install Go (https://go.dev/dl), with which it is built here once, in a few minutes',
    '  - use a server that runs elsewhere: --address HOST:PORT or TEMPORAL_ADDRESS',
  ].join('\n');
}
