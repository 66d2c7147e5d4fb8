/** What was in files before there was a database, as an older gateway has left it. */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { sql } from 'kysely';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { openRecords } from '../../store/records.js';
import { startFixture } from './fixture-process.js';
import { onBothDatabases } from './databases.js';
import type { Place } from './databases.js';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const then = '2026-01-02T03:04:05.678Z';
const owner = { created: then, created_by: 'ann', modified: then, modified_by: 'ann' };
const secret = 'A'.repeat(43);
const oldKey = (id: string) => ({
  id,
  hash: sha256(`perdure_${id}_${secret}`),
  org_id: 'acme',
  user_id: 'ann',
  role: 'member',
  profiles: ['user_chat'],
  scopes: ['runs:read'],
  created_at: then,
});
const oldAgent = (org_id: string, name: string) => ({
  agent_id: `agt_${sha256(org_id + name).slice(0, 18)}`,
  org_id,
  name,
  description: null,
  request_template: { messages: ['hi'] },
  variables: [],
  ...owner,
  of_a_newer_gateway: true,
});
const oldFeedback = (thread_id: string, message_sequence_num: number) => ({
  feedback_id: `fbk_${sha256(JSON.stringify([thread_id, message_sequence_num, 'ann'])).slice(0, 32)}`,
  org_id: 'acme',
  thread_id,
  message_sequence_num,
  ...owner,
  sentiment: 'positive',
  categories: ['helpful'],
  notes: null,
});

onBothDatabases('files of the data folder', (fresh) => {
  let place: Place;
  let dataDir = '';
  beforeEach(async () => {
    place = await fresh();
    dataDir = place.options.dataDir;
  });

  async function write(path: string, content: unknown): Promise<void> {
    await mkdir(dirname(join(dataDir, path)), { recursive: true });
    await writeFile(join(dataDir, path), typeof content === 'string' ? content : JSON.stringify(content));
  }
  const writeKeys = (...ids: string[]) => write('api-keys.json', { version: 1, keys: ids.map(oldKey) });
  async function writeAll(): Promise<void> {
    await writeKeys('0123456789ab', 'ba9876543210');
    const acme = `stored-agents/${sha256('acme')}`;
    await write(`${acme}/000000000009.json`, { version: 1, agents: [oldAgent('acme', 'of the past')] });
    await write(`${acme}/000000000010.json`, { version: 1, agents: ['a', 'b'].map((n) => oldAgent('acme', n)) });
    await write(`${acme}/000000000011.json.of-a-crash.tmp`, '{"vers');
    await write(`stored-agents/${sha256('globex')}/000000000001.json`, {
      version: 1,
      agents: [oldAgent('globex', 'a')],
    });
    for (const [thread, n] of [
      ['thr_1', 1],
      ['thr_1', 3],
      ['thr_2', 1],
    ] as const) {
      const { feedback_id } = oldFeedback(thread, n);
      await write(`feedback/${sha256(thread)}/${feedback_id}.json`, { version: 1, feedback: oldFeedback(thread, n) });
    }
    await write(`feedback/${sha256('thr_2')}/some.json.of-a-crash.tmp`, '{"vers');
  }
  async function open(keysFile?: string) {
    const records = await openRecords({ ...place.options, keysFile });
    onTestFinished(records.close);
    return records;
  }
  async function kept() {
    const records = await open();
    const { keys, agents, feedback } = records;
    return {
      keys: (await keys.list()).map(({ id }) => id),
      agents: [...(await agents.list('acme')), ...(await agents.list('globex'))].map(({ name }) => name).toSorted(),
      feedback: [...(await feedback.list('thr_1')), ...(await feedback.list('thr_2'))].length,
    };
  }
  const ALL = { keys: ['0123456789ab', 'ba9876543210'], agents: ['a', 'a', 'b'], feedback: 3 };

  it('are taken over once, said in one line, and kept in a folder beside', async () => {
    await writeAll();
    const records = await open();
    expect(place.said).toEqual([
      `taken over into ${records.place}: 2 API keys, 3 stored agents, 3 feedback records; the files are in ${dataDir}/taken-over`,
    ]);
    expect(await kept()).toEqual(ALL);
    expect(place.said).toHaveLength(1);
    expect(await records.keys.find(`perdure_0123456789ab_${secret}`)).toEqual(oldKey('0123456789ab'));
    expect(await records.agents.findByName('a', 'acme')).toEqual(oldAgent('acme', 'a'));
    expect(await records.feedback.list('thr_2')).toEqual([oldFeedback('thr_2', 1)]);
    const left = await readdir(dataDir);
    expect(left.filter((name) => !name.startsWith('perdure.db'))).toEqual(['taken-over']);
    const files = (await readdir(join(dataDir, 'taken-over'), { recursive: true })).filter((name) =>
      name.includes('.'),
    );
    expect(files).toHaveLength(9);
    const keysFile = files.find((name) => name.endsWith('api-keys.json')) ?? '';
    const moved = JSON.parse(await readFile(join(dataDir, 'taken-over', keysFile), 'utf8')) as unknown;
    expect(moved).toEqual({ version: 1, keys: ALL.keys.map(oldKey) });
  });

  it('of which there are none leave nothing to say, and no folder', async () => {
    await open();
    expect(place.said).toEqual([]);
    expect(existsSync(join(dataDir, 'taken-over'))).toBe(false);
  });

  it('that were taken over go on as records of the database: they are changed there, and do not come back', async () => {
    await writeAll();
    const records = await open();
    await records.keys.revoke('0123456789ab');
    await records.agents.remove((await records.agents.findByName('a', 'globex'))!);
    await records.feedback.forget('thr_1');
    const [again] = (await readdir(join(dataDir, 'taken-over'), { recursive: true })).filter((name) =>
      name.endsWith('.json'),
    );
    expect(again).toBeDefined();
    // As a crash before the move would have left them.
    await writeAll();
    expect(await kept()).toEqual({ keys: ['ba9876543210'], agents: ['a', 'b'], feedback: 1 });
    expect(place.said).toHaveLength(1);
    expect(existsSync(join(dataDir, 'api-keys.json'))).toBe(false);
  });

  it('that an older gateway has written meanwhile are taken over as well, without what was revoked', async () => {
    await writeAll();
    const { keys } = await open();
    await keys.revoke('0123456789ab');
    await writeKeys('0123456789ab', 'aaaaaaaaaaaa');
    expect((await kept()).keys).toEqual(['aaaaaaaaaaaa', 'ba9876543210']);
    expect(place.said.at(-1)).toContain(': 1 API keys (and 1 that it had, or whose name it had); ');
  });

  it('are all in the database once, however often and wherever it was interrupted', async () => {
    await writeAll();
    const { url } = place.options;
    const started: Promise<unknown>[] = [];
    for (let n = 0; n < 12; n++) {
      const taker = startFixture('take-over', JSON.stringify({ dataDir, url }));
      await taker.nextLine();
      taker.tell('go');
      started.push(taker.ended);
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 150));
      taker.kill();
      await taker.ended;
    }
    expect(await kept()).toEqual(ALL);
  });

  it('are taken over once by ten processes that start at the same time', async () => {
    await writeAll();
    const { url } = place.options;
    const takers = Array.from({ length: 10 }, () => startFixture('take-over', JSON.stringify({ dataDir, url })));
    await Promise.all(takers.map((taker) => taker.nextLine()));
    for (const taker of takers) taker.tell('go');
    const lines = await Promise.all(takers.map((taker) => taker.nextLine()));
    for (const { ended } of takers) expect(await ended).toMatchObject({ code: 0, errors: '' });
    expect(lines.join('\n').match(/2 API keys/g)).toHaveLength(1);
    expect(await kept()).toEqual(ALL);
  });

  it('that are broken or of another version stop the start: they are named, not quoted, and nothing is taken', async () => {
    await writeAll();
    await write(`feedback/${sha256('thr_1')}/broken.json`, 'secret-looking text');
    await expect(open()).rejects.toThrow(/the feedback in .*broken\.json cannot be read: it is no JSON/);
    await expect(open()).rejects.not.toThrow(/secret-looking/);
    await write('api-keys.json', { version: 2, keys: [] });
    await expect(open()).rejects.toThrow(/the API keys in .*api-keys\.json cannot be read: version/);
    const { query } = await place.open();
    expect((await sql`select * from taken_over`.execute(query)).rows).toEqual([]);
    expect(existsSync(join(dataDir, `stored-agents/${sha256('acme')}/000000000010.json`))).toBe(true);
  });

  it('with keys in another place leave that file where it is, and take it over once', async () => {
    const elsewhere = join(dataDir, '..', 'keys.json');
    await writeFile(elsewhere, JSON.stringify({ version: 1, keys: [oldKey('0123456789ab')] }));
    const { keys, place: name } = await open(elsewhere);
    expect(place.said).toEqual([`taken over into ${name}: 1 API keys of ${elsewhere}, which is not read any more`]);
    await keys.revoke('0123456789ab');
    expect(await (await open(elsewhere)).keys.list()).toEqual([]);
    expect(place.said).toHaveLength(1);
    expect(existsSync(elsewhere)).toBe(true);
  });
});
