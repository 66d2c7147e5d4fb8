/** The Dockerfile, as far as it can be checked without an engine. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readServices, root, serviceOf } from './compose-file.js';
import { all, readDockerfile, readImage } from './dockerfile.js';
import type { Stage } from './dockerfile.js';

const stages = readDockerfile();
const [build, last] = stages as [Stage, Stage];
const ignored = readFileSync(join(root, '.dockerignore'), 'utf8').split('\n');
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>;
  bin: { perdure: string };
  dependencies: Record<string, string>;
  engines: { node: string };
};

/** What a COPY takes, and from which stage. */
function sources(copy: string): { from?: string; paths: string[] } {
  const words = copy.split(' ');
  const from = words.find((word) => word.startsWith('--from='))?.slice('--from='.length);
  const paths = words.filter((word) => !word.startsWith('--')).slice(0, -1);
  return { ...(from === undefined ? {} : { from }), paths };
}

describe('the Dockerfile', () => {
  it('has a stage that builds and one that runs, both on the Node that package.json asks for', () => {
    expect(stages.map(({ name }) => name)).toEqual(['build', undefined]);
    expect(new Set(stages.map(({ from }) => from)).size).toBe(1);
    expect(build.from).toMatch(/^node:20-/);
    expect(manifest.engines.node).toMatch(/^>=20\./);
  });

  it('copies what is there, and nothing that .dockerignore keeps out', () => {
    const paths = all(build, 'COPY').flatMap((copy) => sources(copy).paths);
    expect(paths).toContain('package-lock.json');
    for (const path of paths) {
      expect(existsSync(join(root, path)), path).toBe(true);
      expect(ignored).not.toContain(path);
    }
  });

  it('installs from the lock file before the sources are copied, and calls scripts that package.json has', () => {
    const order = build.instructions.map(({ word, rest }) => `${word} ${rest}`);
    expect(order.indexOf('RUN npm ci')).toBeGreaterThan(-1);
    expect(order.indexOf('RUN npm ci')).toBeLessThan(order.indexOf('COPY . .'));
    const scripts = all(build, 'RUN').flatMap((command) => /^npm run (\S+)$/.exec(command)?.[1] ?? []);
    expect(scripts).toEqual(['build']);
    for (const script of scripts) expect(manifest.scripts).toHaveProperty(script);
  });

  it('leaves the tools of development behind, and takes along what loads a configuration in TypeScript', () => {
    expect(all(build, 'RUN').at(-1)).toBe('npm prune --omit=dev');
    expect(manifest.dependencies).toHaveProperty('tsx');
    const taken = all(last, 'COPY').map(sources);
    expect(new Set(taken.map(({ from }) => from))).toEqual(new Set(['build']));
    expect(taken.flatMap(({ paths }) => paths)).toEqual([
      '/app/package.json',
      '/app/LICENSE',
      '/app/node_modules',
      '/app/dist',
    ]);
  });

  it('runs the command of the package, as a user who is not root, and stops at SIGTERM', () => {
    expect(readImage()).toMatchObject({ entrypoint: ['node', manifest.bin.perdure], workdir: '/app' });
    expect(all(last, 'USER')).toEqual(['node']);
    expect(all(last, 'STOPSIGNAL')).toEqual(['SIGTERM']);
    const words = last.instructions.map(({ word }) => word);
    // What is made after it would belong to the wrong one.
    expect(words.indexOf('USER')).toBeGreaterThan(words.lastIndexOf('RUN'));
  });

  it('exposes the port on which the gateway of docker-compose.yml listens', () => {
    const { command = [] } = serviceOf(readServices({ POSTGRES_PASSWORD: 'x' }), 'gateway');
    expect(all(last, 'EXPOSE')).toEqual([command[command.indexOf('--http-port') + 1]]);
  });

  it.each([
    '.git',
    'node_modules',
    'dist',
    '**/.perdure',
    '**/*.env',
    '**/.env',
    '**/.env.*',
    '**/*.key',
    '**/api-keys.json',
    '**/perdure.db*',
  ])('keeps %s out of the build', (pattern) => {
    expect(ignored).toContain(pattern);
  });
});
