/** Words of one wire format stay in it, the command is called as it is typed, and links in the documents lead somewhere. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ERRORS, SAFE_MESSAGES } from '../contract/errors.js';
import { describeRoutes } from '../gateway/openapi.js';
import { ROUTES } from '../gateway/routes/table.js';
import { finished, perdure } from './cli/command.js';

const root = join(import.meta.dirname, '..');
const textOf = (path: string) => readFileSync(join(root, path), 'utf8');
const documents = ['README.md', ...readdirSync(join(root, 'docs')).map((name) => `docs/${name}`)].filter((path) =>
  path.endsWith('.md'),
);

/** Of the threads API below `/v1/ai`, whose pages these are. */
const OF_ONE_FORMAT = /roboto|analysis_scope|dataset_id|device_id|collection_id/i;
const ITS_PAGES = ['docs/http-threads.md', 'docs/http-agents.md'];

describe('words of one wire format', () => {
  it.each(documents.filter((path) => !ITS_PAGES.includes(path)))('are not in %s', (path) => {
    expect(textOf(path)).not.toMatch(OF_ONE_FORMAT);
  });

  it('are not in what the command says of itself', async () => {
    const { stdout } = await finished(perdure(['--help']));
    const names = [...stdout.matchAll(/^ {2}([a-z]+) [^-]/gm)].map(([, name]) => name ?? '');
    expect(names).toEqual(expect.arrayContaining(['dev', 'run', 'chat', 'ls', 'threads', 'cancel', 'temporal']));
    expect(stdout).not.toMatch(OF_ONE_FORMAT);
    // Temporal's own is not ours.
    for (const name of names.filter((each) => each !== 'temporal')) {
      const help = await finished(perdure([name, '--help']));
      expect(help.stdout, name).not.toMatch(OF_ONE_FORMAT);
    }
  });

  it('are not in errors', () => {
    expect(JSON.stringify([ERRORS, SAFE_MESSAGES])).not.toMatch(OF_ONE_FORMAT);
  });

  it('are in no route outside of it, nor in what such a route takes and gives', () => {
    const ours = ROUTES.filter(({ path }) => !path.startsWith('/v1/ai/'));
    const described = describeRoutes(ours, true) as { paths: object; components: { schemas: Record<string, unknown> } };
    const seen = new Set<string>();
    const check = (value: unknown, where: string): void => {
      const text = JSON.stringify(value);
      expect(text, where).not.toMatch(OF_ONE_FORMAT);
      for (const [, name = ''] of text.matchAll(/#\/components\/schemas\/(\w+)/g)) {
        if (seen.has(name)) continue;
        seen.add(name);
        check(described.components.schemas[name], name);
      }
    };
    for (const [path, item] of Object.entries(described.paths)) check(item, path);
    expect([...seen]).toEqual(expect.arrayContaining(['RunPage', 'ThreadState']));
  });
});

describe('the documents', () => {
  const bare =
    /(?<![\w./-])(?<!npx )perdure (?:dev|run|chat|worker|gateway|keys|inspect|tree|answer|ls|cancel|threads)\b/;

  it.each(documents)('%s calls the command as it is typed', (path) => {
    expect(
      textOf(path)
        .split('\n')
        .filter((line) => bare.test(line)),
    ).toEqual([]);
  });

  it.each(documents)('%s has no link that leads nowhere', (path) => {
    const folder = path.includes('/') ? 'docs' : '.';
    const links = [...textOf(path).matchAll(/\]\(([^)\s:]*)\)/g)].map(([, to]) => to ?? '');
    const broken = links.filter((link) => {
      const [file = '', anchor] = link.split('#');
      const target = file === '' ? path : join(folder, file);
      if (!existing(target)) return true;
      return anchor !== undefined && !anchorsOf(textOf(target)).includes(anchor);
    });
    expect(broken).toEqual([]);
  });
});

function existing(path: string): boolean {
  try {
    textOf(path);
    return true;
  } catch {
    return false;
  }
}

/** As code forges make them of headings. */
function anchorsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-'),
  );
}
