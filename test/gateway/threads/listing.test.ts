/** `GET /v1/ai/threads`: whose threads are listed to whom, and what of them. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { AgentThreadRecord } from '../../../contract/thread-records.js';
import { until } from '../../support/world.js';
import { client_tools, settled } from '../../threads/thread-world.js';
import { createThreadGateway, dataOf, refusalOf, startBody, threadPath } from './thread-gateway.js';
import type { ThreadGateway } from './thread-gateway.js';

type Who = 'ann' | 'bob' | 'ada' | 'gus';
interface Listed {
  thread_id: string;
  title: string;
  status: string;
  pinned_at: string | null;
}

let world: ThreadGateway;
const ids: Record<string, string> = {};
beforeAll(async () => {
  world = await createThreadGateway();
  for (const [name, by, more] of [
    ['ann private', 'ann', {}],
    ['ann org', 'ann', { visibility: 'org' }],
    ['bob private', 'bob', { agent_id: 'test.bare' }],
    ['gus org', 'gus', { visibility: 'org' }],
  ] as [string, Who, object][]) {
    const body = startBody([{ text: 'Hello.' }], { title: name, ...more });
    ids[name] = dataOf(await world.callers[by].post('/v1/ai/threads', body)).thread_id;
    await settled(world.world.client.threads, ids[name]);
  }
  await until(async () => (await names('ada')).length === 3 && (await names('gus')).length === 1, 'all to be listed');
});
afterAll(() => world.stop());

async function list(by: Who, search = '') {
  return dataOf<{ items: Listed[]; next_token: string | null }>(
    await world.callers[by].get(`/v1/ai/threads${search === '' ? '' : `?${search}`}`),
  );
}
const names = async (by: Who, search = '') => (await list(by, search)).items.map(({ title }) => title).toSorted();

it('each sees their own, those of the org, and an admin all of the org', async () => {
  expect(await names('ann')).toEqual(['ann org', 'ann private']);
  expect(await names('bob')).toEqual(['ann org', 'bob private']);
  expect(await names('ada')).toEqual(['ann org', 'ann private', 'bob private']);
  expect(await names('gus')).toEqual(['gus org']);
});

it('filters by creator, agent, status and time; an org cannot be asked for', async () => {
  expect(await names('ada', 'created_by=bob')).toEqual(['bob private']);
  expect(await names('ann', 'created_by=bob')).toEqual([]);
  expect(await names('bob', 'agent_id=test.bare')).toEqual(['bob private']);
  await until(async () => (await names('ann', 'status=user_turn')).length === 2, 'the status to be listed');
  expect(await names('ann', 'status=roboto_turn')).toEqual([]);
  const { created } = await world.world.client.threads.get(ids['ann org'] ?? '');
  expect(await names('ann', `created_after=${created}`)).toEqual(['ann org']);
  expect(await names('ann', `created_before=${created}`)).toEqual(['ann private']);
  expect(refusalOf(await world.callers.gus.get(`/v1/ai/threads?org_id=${world.orgs.acme}`))[0]).toBe(400);
  for (const search of [
    'status=great',
    'limit=0',
    'limit=51',
    'created_after=today',
    `created_by=${encodeURIComponent("o'x")}`,
  ])
    expect(refusalOf(await world.callers.ann.get(`/v1/ai/threads?${search}`))[0], search).toBe(400);
});

it('says of each what it is now, though the list lags', async () => {
  const { ann } = world.callers;
  dataOf(await ann.call('PUT', threadPath(ids['ann private'] ?? ''), { title: 'renamed' }));
  expect(await names('ann')).toEqual(['ann org', 'renamed']);
  dataOf(await ann.call('PUT', threadPath(ids['ann private'] ?? ''), { title: 'ann private' }));
});

it('goes on page by page, to the end', async () => {
  const found: string[] = [];
  let token: string | null = null;
  do {
    const page = await list('ada', `limit=1${token === null ? '' : `&page_token=${encodeURIComponent(token)}`}`);
    expect(page.items.length).toBeLessThanOrEqual(1);
    found.push(...page.items.map(({ title }) => title));
    token = page.next_token;
  } while (token !== null);
  expect(found.toSorted()).toEqual(['ann org', 'ann private', 'bob private']);
  const { next_token } = await list('ada', 'limit=1');
  const foreign = await world.callers.gus.get(
    `/v1/ai/threads?limit=1&page_token=${encodeURIComponent(next_token ?? '')}`,
  );
  expect(refusalOf(foreign)[0]).toBe(400);
});

it('a pin is its owner’s alone, and stays where it was when it is set again', async () => {
  const path = threadPath(ids['ann org'] ?? '', '/pin');
  const pinnedAt = async (by: Who) => (await list(by)).items.find(({ title }) => title === 'ann org')?.pinned_at;
  dataOf(await world.callers.bob.post(path, { pinned: true }));
  const at = await pinnedAt('bob');
  expect(at).toMatch(/^\d{4}-/);
  expect(await pinnedAt('ann')).toBeNull();
  dataOf(await world.callers.bob.post(path, { pinned: true }));
  expect(await pinnedAt('bob')).toBe(at);
  dataOf(await world.callers.bob.post(path, { pinned: false }));
  expect(await pinnedAt('bob')).toBeNull();
});

it('is there in words of no wire format too: who sees what is the same', async () => {
  type Summary = { thread_id: string; title: string; status: string };
  const page = async (by: Who, search = '') =>
    (await world.callers[by].get(`/v1/threads${search}`)).body as unknown as {
      threads: Summary[];
      next_cursor?: string;
    };
  const titles = async (by: Who, search = '') => (await page(by, search)).threads.map(({ title }) => title).toSorted();
  for (const by of ['ann', 'bob', 'ada', 'gus'] as const) expect(await titles(by)).toEqual(await names(by));
  expect(await titles('bob', '?agent_id=test.bare')).toEqual(['bob private']);
  expect((await page('bob', '?agent_id=test.bare')).threads).toEqual([
    {
      thread_id: ids['bob private'],
      agent_id: 'test.bare',
      title: 'bob private',
      status: 'waiting_for_you',
      turns: 1,
      visibility: 'private',
      created_at: expect.stringMatching(/^\d{4}-.*Z$/),
      created_by: 'bob',
    },
  ]);
  const { threads, next_cursor } = await page('ada', '?limit=1');
  const rest = await page('ada', `?limit=50&cursor=${encodeURIComponent(next_cursor ?? '')}`);
  expect(threads.length + rest.threads.length).toBe(3);
  for (const search of ['?limit=51', '?status=working', '?page_token=x', '?cursor=x'])
    expect((await world.callers.ann.get(`/v1/threads${search}`)).status, search).toBe(400);
});

it('one thread says whose turn it is, and which run is at it', async () => {
  const { ann, bob } = world.callers;
  const turns = [{ tool_calls: [{ tool: 'client.declared.client_look', args: {} }] }, { text: 'Seen.' }];
  const body = startBody(turns, { client_tools, title: 'looking' });
  const { thread_id } = dataOf(await ann.post('/v1/ai/threads', body));
  await settled(world.world.client.threads, thread_id);
  const path = `/v1/threads/${encodeURIComponent(thread_id)}`;
  expect((await ann.get(path)).body).toMatchObject({
    title: 'looking',
    status: 'waiting_for_tools',
    open_run_id: `${thread_id}/turn_1`,
  });
  expect((await bob.get(path)).status).toBe(404);
  dataOf(await ann.call('DELETE', threadPath(thread_id)));
  expect((await ann.get(path)).status).toBe(404);
});

it('a thread that was deleted is not listed from then on', async () => {
  const { ann } = world.callers;
  const title = randomUUID();
  const { thread_id } = dataOf(await ann.post('/v1/ai/threads', startBody([{ text: 'Hello.' }], { title })));
  await until(async () => (await names('ann')).includes(title), 'it to be listed');
  dataOf(await ann.call('DELETE', threadPath(thread_id)));
  expect(await names('ann')).not.toContain(title);
});

const AsSdk = AgentThreadRecord.required();

it('each item is a record of the SDK’s own shape, whose token gives the messages', async () => {
  const { items } = await list('ann');
  for (const item of items) expect(AsSdk.parse(item)).toMatchObject({ messages: [], goals: null });
  const [first] = items as (Listed & { continuation_token: string })[];
  const path = threadPath(first?.thread_id ?? '', `/delta?next_token=${first?.continuation_token}`);
  const delta = dataOf<{ messages_by_idx: Record<string, unknown> }>(await world.callers.ann.get(path));
  expect(Object.keys(delta.messages_by_idx)).toEqual(['0', '1']);
});

async function search(by: Who, body: object) {
  return dataOf<{ items: Listed[]; next_token: string | null }>(
    await world.callers[by].post('/v1/ai/threads/search', body),
  );
}
const found = async (by: Who, body: object) => (await search(by, body)).items.map(({ title }) => title).toSorted();

it('a search finds by a part of the title, visibility, creator, status, agent and time, among what one may read', async () => {
  expect(await found('ada', {})).toEqual(await names('ada'));
  expect(await found('ada', { title: 'PRIV' })).toEqual(['ann private', 'bob private']);
  expect(await found('ann', { title: 'priv' })).toEqual(['ann private']);
  expect(await found('gus', { title: 'ann' })).toEqual([]);
  expect(await found('ada', { visibility: 'org' })).toEqual(['ann org']);
  expect(await found('ada', { visibility: 'private', created_by: 'bob', title: null })).toEqual(['bob private']);
  expect(await found('ada', { agent_id: 'test.bare' })).toEqual(['bob private']);
  await until(async () => (await found('ann', { status: 'user_turn' })).length === 2, 'the status to be listed');
  expect(await found('ann', { status: 'roboto_turn' })).toEqual([]);
  const { created } = await world.world.client.threads.get(ids['ann org'] ?? '');
  expect(await found('ann', { created_after: created })).toEqual(['ann org']);
  expect(await found('ann', { created_before: created })).toEqual(['ann private']);
  for (const item of (await search('ann', {})).items) AsSdk.parse(item);
});

it('a search goes on page by page, and refuses what it does not know', async () => {
  const titles: string[] = [];
  let page_token: string | null = null;
  do {
    const page: Awaited<ReturnType<typeof search>> = await search('ada', { title: 'private', limit: 1, page_token });
    titles.push(...page.items.map(({ title }) => title));
    page_token = page.next_token;
  } while (page_token !== null);
  expect(titles.toSorted()).toEqual(['ann private', 'bob private']);
  for (const body of [{ limit: 0 }, { limit: '5' }, { status: 'great' }, { org_id: world.orgs.acme }, { title: '' }])
    expect(refusalOf(await world.callers.gus.post('/v1/ai/threads/search', body))[0], JSON.stringify(body)).toBe(400);
});
