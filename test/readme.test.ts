/**
 * Every ```ts block of README.md and docs/*.md compiles as it stands, under the options of the rooms, against the
 * built package by its public name (`perdure/kit`). A block is a module of its own: what it needs, it imports.
 *
 * The blocks are written under dist/, inside the package, because only there does `perdure/…` mean this package.
 */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { blocksOf, isTypeScript } from './support/markdown-blocks.js';
import type { Block } from './support/markdown-blocks.js';

const root = join(import.meta.dirname, '..');

const documents = ['README.md', ...markdownIn('docs')].filter((path) => existsSync(join(root, path)));
const blocks = documents.flatMap((path) => blocksOf(path, readFileSync(join(root, path), 'utf8')).filter(isTypeScript));

/** Proves that a wrong block is found, and where: a name that does not exist on the third line of the document. */
const planted = blocksOf('planted.md', '```ts\nexport const right = 1;\nexport const wrong: string = right;\n```\n');

let folder = '';
let errors: ReadonlyMap<string, readonly string[]>;

beforeAll(async () => {
  mkdirSync(join(root, 'dist'), { recursive: true });
  folder = mkdtempSync(join(root, 'dist', 'readme-check-'));
  for (const block of [...blocks, ...planted]) writeFileSync(join(folder, fileOf(block)), block.code);
  const compilerOptions = { composite: false, declaration: false, noEmit: true, types: ['node'] };
  const config = { extends: '../../tsconfig.base.json', compilerOptions, include: ['*.ts'] };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
  errors = await compile([...blocks, ...planted]);
});

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

describe('the README', () => {
  it('exists and shows code', () => {
    const message = 'README.md is missing, or has no ```ts block: it must show a tool and an agent in code.';
    expect(blocks.filter((block) => block.document === 'README.md').length, message).toBeGreaterThan(0);
  });

  it.each(blocks.map((block) => [`${block.document}:${block.line}`, block] as const))(
    '%s compiles',
    (_place, block) => {
      expect(errors.get(fileOf(block)) ?? []).toEqual([]);
    },
  );

  it('would be refused with a block that does not compile, by file and line', () => {
    const found = planted.flatMap((block) => errors.get(fileOf(block)) ?? []);
    expect(found).toEqual([expect.stringMatching(/^planted\.md:3 .*TS2322/)]);
  });
});

function markdownIn(path: string): string[] {
  if (!existsSync(join(root, path))) return [];
  return readdirSync(join(root, path))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${path}/${name}`);
}

function fileOf({ document, line }: Block): string {
  return `${document.replaceAll(/[^\w-]/g, '-')}-line-${line}.ts`;
}

/** Errors of each block's file, placed in the document it came from. */
function compile(all: readonly Block[]): Promise<Map<string, string[]>> {
  const byFile = new Map(all.map((block) => [fileOf(block), block]));
  return new Promise((resolve, reject) => {
    const tsc = join(root, 'node_modules/.bin/tsc');
    execFile(tsc, ['-p', folder, '--pretty', 'false'], { cwd: folder }, (error, stdout, stderr) => {
      if (error && typeof error.code !== 'number') return reject(error);
      const found = new Map<string, string[]>();
      for (const line of stdout.split('\n')) {
        const match = /^(\S+\.ts)\((\d+),\d+\): error (.*)$/.exec(line);
        const block = match?.[1] ? byFile.get(basename(match[1])) : undefined;
        if (match && block) {
          const place = `${block.document}:${block.line + Number(match[2])}`;
          found.set(fileOf(block), [...(found.get(fileOf(block)) ?? []), `${place} ${match[3]}`]);
        } else if (line && !line.startsWith(' ')) {
          return reject(new Error(`tsc said something that is not about a block:\n${stdout}${stderr}`));
        }
      }
      return resolve(found);
    });
  });
}
