/**
 * The README, as a newcomer follows it: every command and every snippet, in order, in a fresh clone, in one terminal
 * and the second one that it speaks of. It takes the usual ports, as the README does, so it runs alone.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { somethingListens } from '../../cli/connect.js';
import { startWireServer } from '../providers/wire-server.js';
import type { WireServer } from '../providers/wire-server.js';
import { blocksOf, isTypeScript } from '../support/markdown-blocks.js';
import type { Block } from '../support/markdown-blocks.js';
import { keepHistories } from '../support/kept-histories.js';
import { openSession } from './terminal-session.js';
import type { Answer, Session } from './terminal-session.js';

const root = join(import.meta.dirname, '../..');
const blocks = blocksOf('README.md', readFileSync(join(root, 'README.md'), 'utf8'));

interface Expected {
  /** What must have been shown. */
  shows: RegExp;
  answers?: readonly Answer[];
  /** What is run instead, and why. */
  instead?: { command: string; because: string };
  /** It stays up in the first terminal. */
  stays?: true;
}

/** A command that is not here fails the test: whoever adds one says what a reader must see. */
const EXPECTED: Record<string, Expected> = {
  'npm ci && npm run demo': {
    shows: /I am a scripted model[^]*success · 2 steps · 2 tools/,
    instead: { command: 'npm run demo', because: 'the packages of this checkout are linked, which saves time' },
  },
  'npm ci && npm run verify': {
    shows: /^/,
    instead: { command: 'true', because: 'it is what runs this test' },
  },
  'npx perdure dev': { shows: /Perdure is up[^]*agents +demo\.assistant/, stays: true },
  'npx perdure run demo.assistant "What time is it in Lima, and what is 17 % of 2,450?" --run-id lima': {
    shows: /In Lima it is \w+, \d+ \w+ \d{4} at \d\d:\d\d\. 17 % of 2,450 is 416\.5\./,
  },
  'npx perdure inspect lima': { shows: /demo\.assistant {2}lima[^]*✓ success[^]*is 416\.5\./ },
  'npx perdure ls': { shows: /\blima +demo\.assistant +(completed|planning)/ },
  'npx perdure chat demo.assistant': {
    shows: /What is 5 % of 80\?[^]*5 % of 80 is 4\.[^]*To come back: npx perdure chat --thread thr_/,
    answers: [
      [/\/help/, 'What is 5 % of 80?'],
      [/success · 2 steps/, '/quit'],
    ],
  },
  [`curl -s localhost:2700/v1/runs -H 'content-type: application/json' -d '{"agent_id":"demo.assistant","input":"hello"}'`]:
    { shows: /"run_id":"demo\.assistant-[0-9a-f-]{36}"/ },
  [`npx perdure temporal workflow start --type agentRun --task-queue perdure --input '{"agent_id":"demo.assistant","input":"hello"}'`]:
    { shows: /Running execution:[^]*WorkflowId/ },
  'cd examples/trip-desk': { shows: /^/ },
  'npx perdure run trips.desk "A few days in Oslo" --client-tools client-tools.json': {
    shows: /You are going to Oslo\. Booked as PD-\d+ for \d+ euros:[^]*seat 14A/,
    answers: [
      [/trips\.desk asks[^]*fly to Oslo[^]*> /, '19 June'],
      [/trips\.flights asks[^]*client_pick_seat[^]*> /, '14A'],
      [/trips\.desk asks[^]*book_trip[^]*> /, 'y'],
    ],
  },
  'cd ../research-desk': { shows: /^/ },
  'npx perdure run desk.supervisor "How did the two ferry lines recover since 2020?" --save-files .': {
    shows: /saved \S*passengers\.svg/,
  },
  'cd ../../my-shop': { shows: /^/ },
  'OPENAI_API_KEY=sk-your-key npx perdure run shop.desk "Where is order 4711?"': {
    shows: /shop\.orders\.status \{"order":"4711"\}[^]*Order 4711 is on its way\./,
  },
  'npx tsx ask.ts': { shows: /17 % of 2,450 is 416\.5\.[^]*success/ },
};

let clone = '';
let scratch = '';
let vendor: WireServer;
let session: Session;

beforeAll(async () => {
  for (const port of [7233, 8233, 2700]) {
    const isTaken = await somethingListens(`127.0.0.1:${port}`);
    expect(isTaken, `The README is followed as it is written, and something listens on ${port}: stop it.`).toBe(false);
  }
  scratch = mkdtempSync(join(tmpdir(), 'perdure-readme-'));
  clone = join(scratch, 'perdure');
  const git = (cwd: string, args: string[], input?: string) =>
    execFileSync('git', args, { cwd, input, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
  git(scratch, ['clone', '--quiet', '--depth', '1', `file://${root}`, clone]);
  // What is changed here and not committed yet is to be tried as well.
  const changes = git(root, ['diff', 'HEAD', '--binary']);
  if (changes !== '') git(clone, ['apply'], changes);
  const added = git(root, ['ls-files', '--others', '--exclude-standard', '-z']).split('\0');
  for (const path of added.filter((name) => name !== '')) cpSync(join(root, path), join(clone, path));
  symlinkSync(join(root, 'node_modules'), join(clone, 'node_modules'));
  vendor = await startWireServer();
  session = openSession(clone, scratch, environment());
});

afterAll(async () => {
  try {
    await session.end();
  } finally {
    await vendor.close();
    rmSync(scratch, { recursive: true, force: true });
  }
});

/** Of a person who has set nothing, but for the stand-in of the model's vendor. */
function environment(): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(
    ([name]) => !/^(TEMPORAL_|PERDURE_|VITEST|NODE_OPTIONS$|NODE_ENV$|npm_)|_API_KEY$/.test(name),
  );
  const npm = { npm_config_cache: join(scratch, 'npm-cache'), npm_config_offline: 'true' };
  return { ...Object.fromEntries(own), ...npm, TERM: 'xterm', OPENAI_BASE_URL: vendor.baseURL };
}

function vendorAnswers(): void {
  const line = (data: unknown) => `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
  const chunk = (delta: object, finish_reason: string | null = null) =>
    line({ id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] });
  const call = { name: 'shop-orders-status', arguments: '{"order":"4711"}' };
  const calls = [{ index: 0, id: 'call_1', type: 'function', function: call }];
  const headers = { 'content-type': 'text/event-stream' };
  for (const body of [
    chunk({ role: 'assistant', tool_calls: calls }) + chunk({}, 'tool_calls'),
    chunk({ role: 'assistant', content: 'Order 4711 is on its way.' }) + chunk({}, 'stop'),
  ])
    vendor.reply({ headers, body: body + line('[DONE]') });
}

function commandsOf({ code }: Block): string[] {
  return code.split('\n').filter((line) => line !== '');
}

/** The file that the text before a snippet names. */
function fileOf({ before, line }: Block): string {
  const names = [...before.matchAll(/`([\w./-]+\.ts)`/g)].map(([, name]) => name ?? '');
  expect(names, `README.md:${line}: the line before a snippet names its file`).toHaveLength(1);
  return names[0] ?? '';
}

it('works from top to bottom', { timeout: 900_000 }, async () => {
  vendorAnswers();
  const done: string[] = [];
  for (const block of blocks) {
    if (isTypeScript(block)) {
      const path = join(clone, fileOf(block));
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, block.code);
    }
    if (block.language !== 'sh') continue;
    for (const command of commandsOf(block)) {
      const place = `README.md:${block.line}: ${command}`;
      const expected = EXPECTED[command];
      if (expected === undefined) throw new Error(`${place}\nis new: say in EXPECTED what a reader must see.`);
      done.push(command);
      if (expected.stays) await session.keep(command, expected.shows);
      else {
        const shown = await session.type(expected.instead?.command ?? command, expected.answers);
        expect(shown, place).toMatch(expected.shows);
      }
    }
  }
  expect(done).toEqual(Object.keys(EXPECTED));
  // What the vendor was sent is what the snippet says.
  expect(vendor.requests.map(({ body }) => body['model'])).toEqual(['gpt-5-mini', 'gpt-5-mini']);
  expect(readdirSync(join(clone, 'examples/research-desk'))).toContain('passengers.svg');
  await keepHistories('127.0.0.1:7233', join(clone, '.perdure', 'payloads'));
});
