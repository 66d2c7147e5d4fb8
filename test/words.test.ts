/** Words of one wire format stay in it, the command is called as it is typed, and links in the documents lead somewhere. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ERRORS, SAFE_MESSAGES } from '../contract/errors.js';
import { threadStatus } from '../contract/thread-status.js';
import { describeRoutes } from '../gateway/openapi.js';
import { ROUTES } from '../gateway/routes/table.js';
import { finished, perdure } from './cli/command.js';
import { script } from './support/test-agents.js';
import { ask, treeConfig } from './support/tree-agents.js';
import { createWorld, until } from './support/world.js';
import type { World } from './support/world.js';
import { client_tools } from './threads/thread-world.js';

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

describe('what a thread says', { timeout: 240_000 }, () => {
  let world: World;
  beforeAll(async () => {
    world = await createWorld(treeConfig());
  });
  afterAll(() => world.end());

  const look = { tool: 'client.declared.client_look', args: {} };
  /** Threads that are at each of their statuses. */
  async function threadsAtAll(): Promise<string[]> {
    const always = { tool: 'test.guarded.always', args: { text: 'x' } };
    const turns: Parameters<typeof script>[0] = [
      { text: ['well'], hang: true },
      { tool_calls: [look] },
      { tool_calls: [always] },
      { tool_calls: [ask('Which?')] },
      { text: 'done' },
    ];
    const { threads } = world.client;
    const started = turns.map((turn) =>
      threads.start({ agent_id: 'test.node', messages: [script([turn])], client_tools, title: 'A title' }),
    );
    const ids = (await Promise.all(started)).map(({ thread_id }) => thread_id);
    const bare = await threads.start({ agent_id: 'test.node' });
    const wanted = ['working', 'waiting_for_tools', 'waiting_for_answer', 'waiting_for_answer', 'waiting_for_you'];
    for (const [n, id] of ids.entries())
      await until(async () => threadStatus(await threads.header(id)) === wanted[n], `a thread that is ${wanted[n]}`);
    return [...ids, bare.thread_id];
  }

  it('to its caller, in the command and in the Temporal UI is in no words of one format', async () => {
    const { threads } = world.client;
    const ids = await threadsAtAll();
    const sentences: string[] = [];
    const told = async (asked: Promise<unknown>) =>
      sentences.push(
        await asked.then(
          (answer) => JSON.stringify(answer ?? ''),
          (why: Error) => why.message,
        ),
      );
    const wrong = { tool_use_id: 'x', digest: 'x', decision: 'approve' as const };
    for (const id of [...ids, 'thr_of_nobody']) {
      await told(threads.decideApproval(id, wrong));
      await told(threads.submitToolResults(id, { tool_results: [{ tool_use_id: 'x', status: 'success' }] }));
      await told(threads.delta(id, 'no token'));
      await told(threads.fork(id, { message_sequence_num: 99 }));
      await told(threads.send(id, { message: 'more', goals: [{ goal_type: 'x', goal_data: {} }] }));
    }
    expect(sentences.join('\n')).toMatch(/is at thr_\S+ \(working\), so it takes no message/);
    expect(sentences.join('\n')).toMatch(/is at thr_\S+ \(waiting for tools\), so it takes no message/);
    expect(sentences.filter((sentence) => OF_ONE_FORMAT.test(sentence))).toEqual([]);

    const { connection, taskQueue, dataDir } = world.server;
    const flags = ['--address', connection.address ?? '', '--task-queue', taskQueue, '--data-dir', dataDir];
    const list = await finished(perdure(['threads', '--agent', 'test.node', ...flags]));
    expect(list.stdout).toContain('waiting for tools');
    const chats = ids
      .slice(0, 3)
      .map((id) => finished(perdure(['chat', '--thread', id, ...flags], { stdin: '/cancel\n' })));
    for (const { stdout, stderr } of [list, ...(await Promise.all(chats))])
      expect(stdout + stderr).not.toMatch(OF_ONE_FORMAT);

    for (const id of ids) {
      const handle = world.temporal.workflow.getHandle(id);
      const { currentDetails } = await handle.query<{ currentDetails: string }>('__temporal_workflow_metadata');
      expect(currentDetails).toMatch(/^### .+: [a-z ]+\n/);
      expect(currentDetails).not.toMatch(OF_ONE_FORMAT);
    }
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
