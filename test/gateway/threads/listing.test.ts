/** `GET /v1/ai/threads`: whose threads are listed to whom, and what of them. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { until } from '../../support/world.js';
import { settled } from '../../threads/thread-world.js';
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

it('a thread that was deleted is not listed from then on', async () => {
  const { ann } = world.callers;
  const title = randomUUID();
  const { thread_id } = dataOf(await ann.post('/v1/ai/threads', startBody([{ text: 'Hello.' }], { title })));
  await until(async () => (await names('ann')).includes(title), 'it to be listed');
  dataOf(await ann.call('DELETE', threadPath(thread_id)));
  expect(await names('ann')).not.toContain(title);
});
