/**
 * The walls between the rooms hold.
 *
 * `rooms` below is the table of the README, section Rooms, as data. Every cell of it is planted as a tiny file in a
 * temporary copy of the tsconfigs and the lint configuration; `tsc -b` and oxlint then answer for the architecture.
 *
 * W1  A forbidden room is refused by the compiler, in every form an import can take, unless references leave it open
 *     because they are transitive.
 * W2  A forbidden room is refused by the linter in every form, so a hole in W1 is closed, whoever opens it.
 * W3  What the table allows passes both. Without this the test could be green on walls that refuse everything.
 * W4  A package that is not in a room's row is refused by the linter; the list of packages is package.json's own.
 * W5  In the rooms that replay, what is not deterministic does not exist: no Node, no timers, no network. In what
 *     browsers load there is no Node.
 * W6  The linter sees types: an activity that nobody awaits and a cycle of imports are refused.
 *
 * A new room: its tsconfig.json, its override in .oxlintrc.json, its name in the overrides that close it, a row here.
 */
import { execFile } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

interface Row {
  /** Rooms it may import. */
  readonly rooms: readonly string[];
  /** npm packages it may import; `any` where applications, tests and measurements live. */
  readonly packages: readonly string[] | 'any';
  /** Runs in the workflow sandbox: no Node in sight. */
  readonly replays?: true;
  /** Runs in browsers: no Node either. */
  readonly browser?: true;
  /** May name the package by its public name, as an application does. */
  readonly selfImport?: true;
}

const upToWorker = ['contract', 'kit', 'providers', 'live', 'store', 'tools', 'activities', 'client'];

const rooms: Readonly<Record<string, Row>> = {
  contract: { rooms: [], packages: ['zod'], replays: true },
  dialects: { rooms: ['contract'], packages: [], replays: true },
  workflows: { rooms: ['contract'], packages: ['@temporalio/workflow'], replays: true },
  kit: { rooms: ['contract'], packages: ['zod'] },
  providers: { rooms: ['contract'], packages: ['openai', '@anthropic-ai/sdk', '@google/genai', 'zod'] },
  live: { rooms: ['contract'], packages: ['@temporalio/client', 'ioredis'] },
  store: {
    rooms: ['contract'],
    packages: ['@aws-sdk/client-s3', '@temporalio/common', '@temporalio/proto', 'kysely', 'libsql', 'pg'],
  },
  tools: {
    rooms: ['contract', 'kit'],
    packages: [
      'zod',
      'undici',
      '@mozilla/readability',
      'linkedom',
      'minisearch',
      'ipaddr.js',
      '@modelcontextprotocol/sdk',
      'eventsource-parser',
    ],
  },
  activities: {
    rooms: ['contract', 'kit', 'providers', 'live', 'store'],
    packages: ['zod', '@temporalio/activity', '@temporalio/common'],
  },
  client: { rooms: ['contract', 'dialects', 'live'], packages: ['@temporalio/client', '@temporalio/common'] },
  /** A room within a room: what of the client needs no more than `fetch`. */
  'client/http': { rooms: ['contract', 'dialects'], packages: [], browser: true },
  gateway: {
    rooms: ['contract', 'dialects', 'store', 'client'],
    packages: ['hono', '@hono/node-server', 'jose', 'pino', 'prom-client', 'zod'],
  },
  worker: {
    rooms: upToWorker,
    packages: ['@temporalio/client', '@temporalio/common', '@temporalio/envconfig', '@temporalio/worker'],
  },
  cli: {
    rooms: ['dialects', ...upToWorker, 'client/http', 'gateway', 'worker'],
    packages: [
      'zod',
      'commander',
      'marked',
      'tsx',
      'openai',
      '@temporalio/activity',
      '@temporalio/client',
      '@temporalio/common',
      '@temporalio/envconfig',
      '@temporalio/worker',
    ],
  },
  examples: { rooms: ['contract', 'kit', 'providers', 'tools'], packages: 'any', selfImport: true },
  bench: { rooms: ['dialects', ...upToWorker, 'gateway', 'worker'], packages: 'any' },
  test: {
    rooms: ['dialects', 'workflows', ...upToWorker, 'client/http', 'gateway', 'worker', 'cli', 'examples', 'bench'],
    packages: 'any',
    selfImport: true,
  },
};

/** Each form aims at a file of its own: the compiler reports an unlisted file once, at the first import of it. */
const forms: Readonly<Record<string, (path: string) => string>> = {
  static: (path) => `import { room } from '${path}';\nexport const seen: string = room;\n`,
  'type-only': (path) => `import type { Room } from '${path}';\nexport type Seen = Room;\n`,
  dynamic: (path) => `export const seen = import('${path}');\n`,
  're-export': (path) => `export { room } from '${path}';\n`,
  nested: (path) => `import { room } from '../${path}';\nexport const seen: string = room;\n`,
};

const hostNames = [
  'process',
  'globalThis.process',
  'Buffer',
  'require',
  '__dirname',
  'fetch',
  'URL',
  'crypto',
  'performance',
  'console',
  'setTimeout',
  'setInterval',
  'structuredClone',
];
const hostModules = ['node:fs', 'node:timers/promises', 'node:child_process'];
const notReplayable = ['WeakRef', 'FinalizationRegistry', 'Intl'];

/** Packages that have nothing, or no types, at their root: a path within them. */
const PATHS: Readonly<Record<string, string>> = {
  tsx: 'tsx/esm/api',
  '@modelcontextprotocol/sdk': '@modelcontextprotocol/sdk/client/index.js',
};

const root = join(import.meta.dirname, '..');
const names = Object.keys(rooms);
const replaying = names.filter((room) => rooms[room]?.replays);
const browsing = names.filter((room) => rooms[room]?.browser);
/** What only Node has. */
const nodeNames = ['process', 'globalThis.process', 'Buffer', 'require', '__dirname'];

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest;
const installed = { ...manifest.dependencies, ...manifest.optionalDependencies };
const packages = [...Object.keys(installed), 'vitest', 'fast-check'];

let copy = '';
let refusedByCompiler: ReadonlyMap<string, string>;
let refusedByLinter: ReadonlyMap<string, string>;

beforeAll(async () => {
  copy = mkdtempSync(join(tmpdir(), 'perdure-rooms-'));
  for (const file of ['package.json', 'tsconfig.json', 'tsconfig.base.json', '.oxlintrc.json']) {
    cpSync(join(root, file), join(copy, file));
  }
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  for (const room of names) {
    mkdirSync(join(copy, room), { recursive: true });
    cpSync(join(root, room, 'tsconfig.json'), join(copy, room, 'tsconfig.json'));
    for (const form of Object.keys(forms)) {
      plant(`${room}/${form}.ts`, `export const room = '${room}';\nexport type Room = typeof room;\n`);
    }
  }
  plantWhatTheCompilerJudges();
  refusedByCompiler = await compile();
  // Only now: with these in sight, Node's types would be too, and W5 would prove nothing.
  plantWhatOnlyTheLinterJudges();
  plantWhatNeedsTypes();
  refusedByLinter = await lint();
});

afterAll(() => {
  rmSync(copy, { recursive: true, force: true });
});

describe('the table', () => {
  it('has a row for every room that exists, and no other', () => {
    const existing = foldersIn('.').filter((name) => existsSync(join(root, name, 'tsconfig.json')));
    existing.push(...existing.flatMap(foldersIn).filter((name) => existsSync(join(root, name, 'tsconfig.json'))));
    expect(existing.toSorted()).toEqual(names.toSorted());
  });

  it.each(names)('allows all that %s/tsconfig.json references', (room) => {
    expect(references(room).filter((to) => !allowed(room).includes(to))).toEqual([]);
  });

  it('names only packages that package.json has', () => {
    const named = new Set(Object.values(rooms).flatMap((row) => (row.packages === 'any' ? [] : row.packages)));
    expect([...named].filter((name) => !(name in installed))).toEqual([]);
  });
});

describe('W1: the compiler refuses a forbidden room in every form', () => {
  it.each(names.filter((from) => forbidden(from).length > 0))('to %s/', (from) => {
    const open = reachable(from);
    const walled = forbidden(from).filter((to) => !open.has(to));
    expect(missing(refusedByCompiler, cells(from, walled))).toEqual([]);
  });
});

describe('W2: the linter refuses', () => {
  it.each(names.filter((from) => forbidden(from).length > 0))('%s/ a forbidden room in every form', (from) => {
    expect(missing(refusedByLinter, cells(from, forbidden(from)), 'no-restricted-imports')).toEqual([]);
  });

  it.each(names.filter((from) => from !== 'test'))('%s/ a way round through dist/', (from) => {
    expect(missing(refusedByLinter, [`${from}/by-dist.ts`], 'no-restricted-imports')).toEqual([]);
  });

  it.each(names.filter((from) => !rooms[from]?.selfImport))('%s/ a way round through our public name', (from) => {
    expect(missing(refusedByLinter, [`${from}/by-name.ts`], 'no-restricted-imports')).toEqual([]);
  });
});

describe('W3: what the table allows passes', () => {
  it.each(names.filter((from) => allowed(from).length > 0))('%s/ imports its rooms in every form', (from) => {
    expect(present(refusedByCompiler, cells(from, allowed(from)))).toEqual([]);
    expect(present(refusedByLinter, cells(from, allowed(from)))).toEqual([]);
  });

  it.each(names)('%s/ imports its packages', (from) => {
    const probes = packages.filter((name) => mayUse(from, name)).map((name) => packageCell(from, name));
    expect(present(refusedByCompiler, probes)).toEqual([]);
    expect(present(refusedByLinter, probes)).toEqual([]);
  });

  it('a room that does not replay has Node, timers, network and locale', () => {
    const probes = [
      ...[...hostNames, ...notReplayable].map((name) => nameCell('kit', name)),
      ...hostModules.map((name) => packageCell('kit', name)),
    ];
    expect(present(refusedByCompiler, probes)).toEqual([]);
    expect(present(refusedByLinter, probes)).toEqual([]);
  });
});

describe('W4: the linter refuses every other package', () => {
  it.each(names.filter((from) => rooms[from]?.packages !== 'any'))('to %s/', (from) => {
    const probes = packages.filter((name) => !mayUse(from, name)).map((name) => packageCell(from, name));
    expect(missing(refusedByLinter, probes, 'no-restricted-imports')).toEqual([]);
  });
});

describe.each(replaying)('W5: %s/ replays, so', (room) => {
  it.each(hostNames)('%s does not exist in it', (name) => {
    expect(refusedByCompiler.get(nameCell(room, name)) ?? 'compiled').toMatch(/TS(2304|2339|2580|2584|2591|7017)/);
  });

  it.each(hostModules)('%s cannot be imported in it', (name) => {
    expect(refusedByCompiler.get(packageCell(room, name)) ?? 'compiled').toMatch(/TS(2307|2591)/);
    expect(missing(refusedByLinter, [packageCell(room, name)], 'no-restricted-imports')).toEqual([]);
  });

  it.each(notReplayable)('the linter refuses %s in it', (name) => {
    expect(missing(refusedByLinter, [nameCell(room, name)], 'no-restricted-globals')).toEqual([]);
  });
});

describe.each(browsing)('W5: %s/ runs in browsers, so', (room) => {
  it.each(nodeNames)('%s does not exist in it', (name) => {
    expect(refusedByCompiler.get(nameCell(room, name)) ?? 'compiled').toMatch(/TS(2304|2339|2580|2584|2591|7017)/);
  });

  it.each(hostModules)('%s cannot be imported in it', (name) => {
    expect(refusedByCompiler.get(packageCell(room, name)) ?? 'compiled').toMatch(/TS(2307|2591)/);
    expect(missing(refusedByLinter, [packageCell(room, name)], 'no-restricted-imports')).toEqual([]);
  });

  it('fetch, timers and addresses do', () => {
    const probes = ['fetch', 'URL', 'setTimeout', 'performance'].map((name) => nameCell(room, name));
    expect(present(refusedByCompiler, probes)).toEqual([]);
    expect(present(refusedByLinter, probes)).toEqual([]);
  });
});

describe('W6: the linter sees types and files', () => {
  it('refuses an activity that nobody awaits', () => {
    expect(missing(refusedByLinter, ['workflows/floats.ts'], 'no-floating-promises')).toEqual([]);
  });

  it('refuses a cycle of imports', () => {
    expect(missing(refusedByLinter, ['kit/cycle-a.ts', 'kit/cycle-b.ts'], 'no-cycle')).toEqual([]);
  });
});

/** Of the repository, and not what is in it for the tools. */
function foldersIn(folder: string): string[] {
  const entries = readdirSync(join(root, folder), { withFileTypes: true });
  const folders = entries.filter((entry) => entry.isDirectory() && entry.name !== 'node_modules');
  return folders.map(({ name }) => (folder === '.' ? name : `${folder}/${name}`));
}

/** From a room up to the folder of all rooms. */
function up(room: string): string {
  return room.replaceAll(/[^/]+/g, '..');
}

function allowed(from: string): string[] {
  return names.filter((to) => rooms[from]?.rooms.includes(to));
}

function forbidden(from: string): string[] {
  return names.filter((to) => to !== from && !rooms[from]?.rooms.includes(to));
}

function mayUse(room: string, name: string): boolean {
  const own = rooms[room]?.packages ?? [];
  return own === 'any' || own.includes(name);
}

function references(room: string): string[] {
  const text = readFileSync(join(root, room, 'tsconfig.json'), 'utf8');
  const referenced = (JSON.parse(text) as { references: { path: string }[] }).references;
  return referenced.map(({ path }) => join(room, path));
}

/** What the references of a room let it see, at any distance. */
function reachable(room: string, seen = new Set<string>()): Set<string> {
  for (const next of references(room)) {
    if (!seen.has(next)) reachable(next, seen.add(next));
  }
  return seen;
}

function cells(from: string, targets: readonly string[]): string[] {
  return targets.flatMap((to) => Object.keys(forms).map((form) => roomCell(from, to, form)));
}

function roomCell(from: string, to: string, form: string): string {
  return `${from}/${form === 'nested' ? 'deep/' : ''}sees-${to.replace('/', '-')}-${form}.ts`;
}

function packageCell(room: string, name: string): string {
  return `${room}/uses-${name.replaceAll(/\W/g, '-')}.ts`;
}

function nameCell(room: string, name: string): string {
  return `${room}/names-${name.replaceAll('.', '-')}.ts`;
}

function missing(refused: ReadonlyMap<string, string>, probes: readonly string[], rule = ''): string[] {
  return probes.filter((probe) => !refused.get(probe)?.includes(rule));
}

function present(refused: ReadonlyMap<string, string>, probes: readonly string[]): string[] {
  return probes.filter((probe) => refused.has(probe)).map((probe) => `${probe}: ${refused.get(probe)}`);
}

function plant(path: string, text: string): void {
  mkdirSync(dirname(join(copy, path)), { recursive: true });
  writeFileSync(join(copy, path), text);
}

function plantWhatTheCompilerJudges(): void {
  for (const from of names) {
    for (const to of names.filter((name) => name !== from)) {
      for (const [form, write] of Object.entries(forms))
        plant(roomCell(from, to, form), write(`${up(from)}/${to}/${form}.js`));
    }
    for (const name of packages.filter((each) => mayUse(from, each))) plantPackage(from, name);
  }
  for (const room of [...replaying, ...browsing, 'kit']) {
    for (const name of hostModules) plantPackage(room, name);
    for (const name of [...hostNames, ...notReplayable]) {
      plant(nameCell(room, name), `export const seen: unknown = ${name};\n`);
    }
  }
}

function plantWhatOnlyTheLinterJudges(): void {
  for (const room of names) {
    for (const name of packages.filter((each) => !mayUse(room, each))) plantPackage(room, name);
    const other = room === 'contract' ? 'client' : 'contract';
    plant(`${room}/by-dist.ts`, `export { room } from '${up(room)}/dist/${other}/static.js';\n`);
    plant(`${room}/by-name.ts`, `export { room } from 'perdure/${other}';\n`);
  }
}

function plantWhatNeedsTypes(): void {
  const call = `const { act } = proxyActivities<{ act(): Promise<void> }>({ startToCloseTimeout: '1s' });`;
  const workflow = `export async function run(): Promise<void> {\n  await act();\n  act();\n}\n`;
  plant('workflows/floats.ts', `import { proxyActivities } from '@temporalio/workflow';\n${call}\n${workflow}`);
  plant('kit/cycle-a.ts', `import { b } from './cycle-b.js';\nexport const a = (): unknown => b;\n`);
  plant('kit/cycle-b.ts', `import { a } from './cycle-a.js';\nexport const b = (): unknown => a;\n`);
}

function plantPackage(room: string, name: string): void {
  const path = PATHS[name] ?? name;
  plant(packageCell(room, name), `import * as all from '${path}';\nexport const seen: string[] = Object.keys(all);\n`);
}

/** Errors of `tsc -b`, by file. */
async function compile(): Promise<Map<string, string>> {
  const output = await run('tsc', ['-b', '--pretty', 'false']);
  const refused = new Map<string, string>();
  for (const line of output.split('\n')) {
    const match = /^(\S+\.ts)\(\d+,\d+\): error (.*)$/.exec(line);
    if (match?.[1] && match[2]) refused.set(match[1], `${refused.get(match[1]) ?? ''}${match[2]} `);
    else if (line && !line.startsWith(' ')) throw new Error(`tsc said something that is not about a file:\n${output}`);
  }
  return refused;
}

/** Errors of oxlint, by file. */
async function lint(): Promise<Map<string, string>> {
  const output = await run('oxlint', ['--type-aware', '--format', 'json', ...names]);
  const { diagnostics } = JSON.parse(output) as { diagnostics: { filename: string; code: string }[] };
  const refused = new Map<string, string>();
  for (const { filename, code } of diagnostics) refused.set(filename, `${refused.get(filename) ?? ''}${code} `);
  return refused;
}

/** The output of a tool that is expected to find errors; a tool that cannot start, or is killed, is an error itself. */
function run(tool: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { cwd: copy, maxBuffer: 64 * 1024 * 1024 };
    execFile(join(root, 'node_modules/.bin', tool), args, options, (error, stdout, stderr) => {
      if (error && typeof error.code !== 'number') reject(error);
      else if (!error) reject(new Error(`${tool} found no error in a copy that is full of them.`));
      else if (stderr) reject(new Error(`${tool}: ${stderr}`));
      else resolve(stdout);
    });
  });
}
