/**
 * One copy of what must exist once. Several copies of protobufjs break the SDK's external storage ("type must be a
 * Type"), and `@temporalio/*` packages of different versions crash at load; both come from a plain `npm install`, so
 * the overrides in package.json are checked here against what is installed and against the lock file.
 */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '..');

interface Manifest {
  readonly version?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly overrides?: Readonly<Record<string, string>>;
}
interface LockFile {
  readonly packages: Readonly<Record<string, Manifest & { readonly resolved?: string }>>;
}

const manifest = read<Manifest>('package.json');
const lock = read<LockFile>('package-lock.json').packages;
const sdkVersion = manifest.dependencies?.['@temporalio/workflow'];

/** Every copy of a package that must exist once, by name: where it is and its version. */
type Copies = Map<string, string[]>;

describe.each([
  ['node_modules', installedCopies],
  ['package-lock.json', lockedCopies],
])('in %s', (_place, copiesIn) => {
  const copies = copiesIn();

  it('protobufjs exists once, at 8.8.1', () => {
    expect(copies.get('protobufjs')).toEqual(['node_modules/protobufjs 8.8.1']);
  });

  it('every @temporalio package exists once, all at the same version', () => {
    const names = [...copies.keys()].filter((name) => name.startsWith('@temporalio/'));
    const declared = Object.keys(manifest.dependencies ?? {}).filter((name) => name.startsWith('@temporalio/'));
    expect(names).toEqual(expect.arrayContaining(declared));
    for (const name of names) expect(copies.get(name)).toEqual([`node_modules/${name} ${sdkVersion}`]);
  });
});

describe('package.json', () => {
  it('pins what must exist once to the versions that are installed', () => {
    for (const [name, version] of Object.entries(manifest.overrides ?? {})) {
      expect(`${name} ${lock[`node_modules/${name}`]?.version}`).toBe(`${name} ${version}`);
    }
    expect(manifest.overrides).toMatchObject({ protobufjs: '8.8.1', '@temporalio/common': sdkVersion });
  });
});

describe('package-lock.json', () => {
  it('names no registry, so that it installs from any', () => {
    const resolved = Object.entries(lock).filter(([, entry]) => entry.resolved !== undefined);
    expect(resolved.map(([path]) => path)).toEqual([]);
  });

  // A registry that lacks the binaries of other platforms leaves them out of the lock file, and `npm ci` refuses it.
  it('has an entry for the binaries of every platform', () => {
    const wanted = Object.entries(lock).flatMap(([path, entry]) =>
      Object.keys(entry.optionalDependencies ?? {}).map((name) => ({ path, name })),
    );
    const absent = wanted.filter(
      ({ path, name }) => !lock[`${path}/node_modules/${name}`] && !lock[`node_modules/${name}`],
    );
    expect(absent.map(({ name }) => name)).toEqual([]);
  });
});

function installedCopies(folder = 'node_modules', copies: Copies = new Map()): Copies {
  for (const name of packageNames(folder)) {
    const path = `${folder}/${name}`;
    if (isSingleton(name)) add(copies, name, `${path} ${read<Manifest>(`${path}/package.json`).version}`);
    if (existsSync(join(root, path, 'node_modules'))) installedCopies(`${path}/node_modules`, copies);
  }
  return copies;
}

function packageNames(folder: string): string[] {
  return readdirSync(join(root, folder))
    .flatMap((name) =>
      name.startsWith('@') ? readdirSync(join(root, folder, name)).map((sub) => `${name}/${sub}`) : name,
    )
    .filter((name) => existsSync(join(root, folder, name, 'package.json')));
}

function lockedCopies(): Copies {
  const copies: Copies = new Map();
  for (const [path, entry] of Object.entries(lock)) {
    const name = path.split('node_modules/').at(-1) ?? '';
    if (isSingleton(name)) add(copies, name, `${path} ${entry.version}`);
  }
  return copies;
}

function isSingleton(name: string): boolean {
  return name === 'protobufjs' || name.startsWith('@temporalio/');
}

function add(copies: Copies, name: string, copy: string): void {
  copies.set(name, [...(copies.get(name) ?? []), copy]);
}

function read<T>(path: string): T {
  return JSON.parse(readFileSync(join(root, path), 'utf8')) as T;
}
