/**
 * Where the programs of Postgres are: installed, or else unpacked from Debian's packages into the user's cache, once.
 * Nothing is installed on the machine.
 */
import { execFile } from 'node:child_process';
import { access, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

const MAJOR = 15;
const DEBIAN = '/usr/lib/postgresql';
const PACKAGE = `postgresql-${MAJOR}`;
const FETCH_TIMEOUT_MS = 300_000;
/** What a server needs beside the C library; the compiler of `libllvm` is large, and no query here asks for it. */
const LIBRARY = /^lib(?!llvm|c6$|c-bin|c-l10n|perl|pam-modules)/;

const run = promisify(execFile);

export interface PostgresBinaries {
  folder: string;
  /** For the loader, where the machine does not have them. */
  libraries?: string;
  /** The folder that they were unpacked into, and may be copied from. */
  unpacked?: string;
}

/** Rejects with what is missing, where there is none and none can be had. */
export async function findPostgres(
  report: (line: string) => void,
  { installed = true, cache = cacheFolder() } = {},
): Promise<PostgresBinaries> {
  if (installed) {
    for (const folder of await installedFolders()) if (await isUsable({ folder })) return { folder };
  }
  const known = await inside(cache);
  if (await isUsable(known)) return known;
  await fetchPackages(cache, report);
  const fetched = await inside(cache);
  if (await isUsable(fetched)) return fetched;
  throw new Error(`Postgres ${MAJOR} was unpacked into ${cache} and does not run. Install the package ${PACKAGE}.`);
}

export function environmentOf({ libraries }: PostgresBinaries): NodeJS.ProcessEnv {
  return { ...process.env, ...(libraries === undefined ? {} : { LD_LIBRARY_PATH: libraries }) };
}

function cacheFolder(): string {
  return join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'perdure', 'postgres', String(MAJOR));
}

/** The oldest that we support first, since that is the one to test with. */
async function installedFolders(): Promise<string[]> {
  const versions = (await readdir(DEBIAN).catch(() => [])).map(Number).filter((version) => version >= MAJOR);
  const packaged = versions.toSorted((a, b) => a - b).map((version) => join(DEBIAN, String(version), 'bin'));
  return [...packaged, ...(process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '')];
}

async function inside(unpacked: string): Promise<PostgresBinaries> {
  const [machine = 'none'] = (await readdir(join(unpacked, 'usr/lib')).catch(() => [])).filter((name) =>
    name.endsWith('-linux-gnu'),
  );
  const folder = join(unpacked, DEBIAN, String(MAJOR), 'bin');
  return { folder, libraries: join(unpacked, 'usr/lib', machine), unpacked };
}

async function isUsable(binaries: PostgresBinaries): Promise<boolean> {
  try {
    await access(join(binaries.folder, 'initdb'));
    const { stdout } = await run(join(binaries.folder, 'postgres'), ['--version'], { env: environmentOf(binaries) });
    return Number(/ (\d+)/.exec(stdout)?.[1]) >= MAJOR;
  } catch {
    return false;
  }
}

async function fetchPackages(cache: string, report: (line: string) => void): Promise<void> {
  report(`fetching Postgres ${MAJOR} from Debian's packages into ${cache}: some 20 MB, once`);
  await mkdir(join(cache, '..'), { recursive: true });
  // Next to its place, so that a fetch that is cut short leaves nothing that looks whole.
  const staging = await mkdtemp(`${cache}-fetching-`);
  try {
    const packages = join(staging, 'packages');
    await mkdir(packages);
    const names = [PACKAGE, ...(await missingLibraries())];
    await download(names, packages, staging);
    const files = (await readdir(packages)).filter((name) => name.endsWith('.deb'));
    report(`unpacking ${files.length} packages`);
    const tree = join(staging, 'tree');
    for (const file of files) await run('dpkg-deb', ['-x', join(packages, file), tree]);
    await rename(tree, cache).catch(async (error: NodeJS.ErrnoException) => {
      // Another process was quicker, or what is there is of no use any more.
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
      if (await isUsable(await inside(cache))) return;
      await rename(cache, join(staging, 'useless'));
      await rename(tree, cache);
    });
    report('fetched');
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(
      `There is no Postgres ${MAJOR} or later on the PATH or in ${DEBIAN}, and Debian's packages cannot be had: ${why}`,
      { cause: error },
    );
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

/** With the machine's lists of packages; where these are too old or not there, with lists of our own. */
async function download(names: string[], folder: string, staging: string): Promise<void> {
  const options = { cwd: folder, timeout: FETCH_TIMEOUT_MS };
  try {
    await run('apt-get', ['-q', 'download', ...names], options);
  } catch {
    const lists = join(staging, 'lists');
    await mkdir(join(lists, 'partial'), { recursive: true });
    const own = ['-q', '-o', `Dir::State::Lists=${lists}`, '-o', `Dir::Cache=${staging}`];
    await run('apt-get', [...own, 'update'], options);
    await run('apt-get', [...own, 'download', ...names], options);
  }
}

async function missingLibraries(): Promise<string[]> {
  const kinds = ['recommends', 'suggests', 'conflicts', 'breaks', 'replaces', 'enhances'].map((kind) => `--no-${kind}`);
  const { stdout } = await run('apt-cache', ['depends', '--recurse', ...kinds, PACKAGE]);
  const wanted = stdout.split('\n').filter((line) => LIBRARY.test(line));
  const states = await Promise.all(wanted.map(isInstalled));
  return wanted.filter((_name, n) => !states[n]);
}

async function isInstalled(name: string): Promise<boolean> {
  const asked = run('dpkg-query', ['-W', '-f', '${Status}', name]);
  return asked.then(({ stdout }) => stdout.endsWith(' installed')).catch(() => false);
}
