/** `GET /v1/runs` over the archive: what is found, by whom, page by page. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ArchivedRun } from '../../store/archive/archived-run.js';
import { recordsIn } from '../support/records.js';
import { script, testConfig } from '../support/test-agents.js';
import { createWorld } from '../support/world.js';
import type { World } from '../support/world.js';
import { createOrgs, serveFor } from './gateway-world.js';
import type { Answer, GatewayWorld, Orgs } from './gateway-world.js';

let world: World;
let gateway: GatewayWorld;
let orgs: Orgs;
let metrics: string;

function runOf(run_id: string, more: Partial<ArchivedRun>): Omit<ArchivedRun, 'tail'> {
  return {
    run_id,
    agent_id: 'test.agent',
    root_run_id: run_id,
    status: 'success',
    phase: 'completed',
    engine_status: 'COMPLETED',
    started_at: '2026-03-01T10:00:00.000Z',
    ended_at: '2026-03-01T10:00:05.000Z',
    steps: 2,
    tool_calls: 1,
    input_tokens: 10,
    output_tokens: 5,
    input: 'What about the weather?',
    answer: 'It rains.',
    tools: [],
    org_id: orgs.acme,
    created_by: 'ann',
    ...more,
  };
}

beforeAll(async () => {
  world = await createWorld(testConfig());
  orgs = await createOrgs();
  const { keys } = orgs;
  metrics = (await keys.create({ org_id: orgs.acme, user_id: 'mia', role: 'member', profiles: ['metrics'] })).key;
  const { archive, close } = await recordsIn(world.server.dataDir);
  const day = (n: number) => `2026-03-0${n}T10:00:00.000Z`;
  const tools = [{ tool_id: 'web.pages.read', count: 2, failures: 1 }];
  const runs = [
    runOf('one', { started_at: day(1), cost_usd: 0.1, tools }),
    runOf('two', { started_at: day(2), cost_usd: 0.5, created_by: 'bob', input: 'Book a flight to Ürgüp' }),
    runOf('three', {
      started_at: day(3),
      status: 'failed',
      phase: 'failed',
      engine_status: 'FAILED',
      agent_id: 'test.other',
    }),
    runOf('one/call_1_1', { started_at: day(4), root_run_id: 'one', parent_run_id: 'one' }),
    runOf('thr_1/turn_1', { started_at: day(5), root_run_id: 'thr_1/turn_1', thread_id: 'thr_1', input: 'my secret' }),
    runOf('theirs', { started_at: day(6), org_id: orgs.globex, created_by: 'gus' }),
  ];
  for (const run of runs) expect(await archive.putRun(run, ['{"type":"run_started","seq":0}'])).toBe('stored');
  await close();
  gateway = await serveFor(world, orgs.auth);
});
afterAll(async () => {
  await gateway.stop();
  await world.end();
  await orgs.remove();
});

const idsOf = ({ body, text }: Answer) => {
  expect(body['runs'], text).toBeDefined();
  return (body['runs'] as { run_id: string }[]).map(({ run_id }) => run_id);
};
const find = async (query: string, key = orgs.ann) => gateway.as(key).get(`/v1/runs?${query}`);

it('a thread that is deleted leaves none of its turns there', async () => {
  const ann = gateway.as(orgs.ann);
  const { thread_id } = await world.client.threads.start({
    agent_id: 'test.agent',
    org_id: orgs.acme,
    created_by: 'ann',
    messages: [script([{ text: 'Said.' }])],
  });
  const { archive, close } = await recordsIn(world.server.dataDir);
  const turn = `${thread_id}/turn_1`;
  await archive.putRun(runOf(turn, { thread_id }), ['{"type":"run_started","seq":0}']);
  expect(await archive.getSummary(turn)).toBeDefined();
  expect((await ann.call('DELETE', `/v1/ai/threads/${thread_id}`)).status).toBe(200);
  expect(await archive.getSummary(turn)).toBeUndefined();
  // Nor does a writer who comes late.
  await archive.putRun(runOf(`${thread_id}/turn_2`, { thread_id }), ['{"type":"run_started","seq":0}']);
  expect(await archive.getSummary(`${thread_id}/turn_2`)).toBeUndefined();
  await close();
});

describe('finding ended runs', () => {
  it.each([
    ['archived=true', ['three', 'two', 'one']],
    ['status=failed', ['three']],
    ['archived=true&agent_id=test.other', ['three']],
    ['created_by=bob', ['two']],
    ['tool_id=web.pages.read', ['one']],
    ['text=weather%20RAINS', ['three', 'one']],
    ['text=urg', ['two']],
    ['text=secret', []],
    ['min_cost_usd=0.2', ['two']],
    ['min_cost_usd=0.05&max_cost_usd=0.2', ['one']],
    ['archived=true&created_after=2026-03-02T00:00:00Z&created_before=2026-03-03T00:00:00Z', ['two']],
    ['archived=true&thread_id=thr_1', []],
  ])('by %s', async (query, found) => {
    expect(idsOf(await find(query))).toEqual(found);
  });

  it('shows of each what lists show, and what it cost', async () => {
    const { body } = await find('created_by=bob');
    expect(body['runs']).toEqual([
      {
        run_id: 'two',
        agent_id: 'test.agent',
        phase: 'completed',
        created_by: 'bob',
        engine_status: 'completed',
        created_at: '2026-03-02T10:00:00.000Z',
        ended_at: '2026-03-01T10:00:05.000Z',
        status: 'success',
        steps: 2,
        tool_calls: 1,
        input_tokens: 10,
        output_tokens: 5,
        cost_usd: 0.5,
        input_start: 'Book a flight to Ürgüp',
      },
    ]);
  });

  it('goes page by page', async () => {
    const seen: string[] = [];
    let cursor = '';
    for (let n = 0; n < 3; n++) {
      const page = await find(`archived=true&limit=1${cursor}`);
      seen.push(...idsOf(page));
      cursor = `&cursor=${String(page.body['next_cursor'])}`;
    }
    expect(seen).toEqual(['three', 'two', 'one']);
    expect(cursor).toBe('&cursor=undefined');
  });

  it('is of one’s own org', async () => {
    expect(idsOf(await find('archived=true', orgs.gus))).toEqual(['theirs']);
    expect(idsOf(await find('text=weather', orgs.gus))).toEqual(['theirs']);
  });

  it('tells no text, and finds none, for a profile that shows none', async () => {
    const { body } = await find('archived=true', metrics);
    expect(body['runs']).toHaveLength(3);
    expect(JSON.stringify(body)).not.toContain('flight');
    expect((await find('text=flight', metrics)).status).toBe(403);
    expect((await find('text=flight&profile=user_chat')).status).toBe(403);
    expect((await find('archived=true&profile=agent_debug', metrics)).status).toBe(403);
  });

  it('tells no cost and no model, and finds none by it, for a profile that shows none', async () => {
    const { body } = await find('archived=true&profile=user_chat');
    expect(body['runs']).toHaveLength(3);
    expect(JSON.stringify(body)).not.toMatch(/cost_usd|"model"/);
    expect((await find('min_cost_usd=0.2&profile=user_chat')).status).toBe(403);
  });

  it('refuses what cannot be meant', async () => {
    for (const query of [
      'archived=true&phase=planning',
      'status=failed&waiting=true',
      'archived=false&text=a',
      'status=gone',
      'min_cost_usd=-1',
      'archived=perhaps',
      `archived=true&cursor=${randomUUID()}`,
    ]) {
      const { status, text } = await find(query);
      expect(status, `${query}: ${text}`).toBe(400);
    }
  });
});
