/** Questions and approvals of threads over HTTP: who sees what, and who may answer. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { asksOf } from '../../../contract/thread-questions.js';
import type { AgentThreadRecord } from '../../../contract/thread-records.js';
import { createHttpClient } from '../../../client/http/index.js';
import { applyDelta } from '../../../contract/thread-delta.js';
import type { script } from '../../support/test-agents.js';
import { ask, treeConfig } from '../../support/tree-agents.js';
import { createWorld, until } from '../../support/world.js';
import type { World } from '../../support/world.js';
import { client_tools, settled, told } from '../../threads/thread-world.js';
import { createOrgs, serveFor } from '../gateway-world.js';
import type { Caller, GatewayWorld, Orgs } from '../gateway-world.js';
import { dataOf, PATIENT, refusalOf, said, startBody, THREAD_CATALOG, threadPath } from './thread-gateway.js';

let world: World;
let orgs: Orgs;
let gateway: GatewayWorld;
let ann: Caller;
const policy = { allow: 'all' as const, deny: [], approve: [], answers: ['role:support'] };
beforeAll(async () => {
  const supported = { agent_id: 'test.supported', instructions: 'Follow the script.', policy };
  world = await createWorld(treeConfig({}, { agents: () => [supported] }));
  orgs = await createOrgs();
  const names = ['test.node', 'test.narrow', 'test.supported'];
  const agents = names.map((agent_id) => ({ agent_id, model_profile: 'script', tools: [] }));
  const policies = new Map([['test.supported', policy]]);
  gateway = await serveFor(world, orgs.auth, { limits: PATIENT, catalog: { ...THREAD_CATALOG, agents, policies } });
  ann = gateway.as(orgs.ann);
});
afterAll(async () => {
  await gateway.stop();
  await world.end();
  await orgs.remove();
});

const approve = { tool: 'test.guarded.always', args: { text: 'secret' } };

async function asking(turns: Parameters<typeof script>[0]): Promise<AgentThreadRecord> {
  const { thread_id } = dataOf(await ann.post('/v1/ai/threads', startBody(turns, { visibility: 'org' })));
  await settled(world.client.threads, thread_id);
  return dataOf(await ann.get(threadPath(thread_id)));
}

it('a question is answered by the next message, of whoever may', async () => {
  const { thread_id, status, messages } = await asking([{ tool_calls: [ask('Which?')] }, { text: 'Thanks.' }]);
  expect(status).toBe('user_turn');
  expect(told({ messages }).at(-1)).toBe('assistant completed: Which?');
  const say = (by: string) =>
    gateway.as(by).post(threadPath(thread_id, '/messages'), { message: said('This one'), goals: null });
  expect(refusalOf(await say(orgs.bob))[1]).toBe('RobotoThreadReadOnlyException');
  expect(dataOf<unknown>(await say(orgs.ann))).toEqual({
    thread_id,
    state: 'answered',
    run_id: `${thread_id}/turn_1`,
    await_id: 'clarification_call_1_1',
  });
  // A repeat, before it was read.
  expect(dataOf<{ state: string }>(await say(orgs.ann)).state).toBe('answered');
  await until(async () => (await world.client.threads.header(thread_id)).turn === undefined, 'the turn to end');
  const record = dataOf(await ann.get(threadPath(thread_id)));
  expect(told(record).slice(2)).toEqual([
    'assistant completed: Which?',
    'user completed: This one',
    'roboto completed: success turn_1_call_1_1',
    'assistant completed: Thanks.',
  ]);
  const log = await world.logOf(`${thread_id}/turn_1`);
  expect(log.find((event) => event.type === 'await_resolved')).toMatchObject({ answered_by: 'ann' });
});

it('an approval is decided by whoever may, once, with the digest of what was read', async () => {
  const { thread_id, status, messages } = await asking([{ tool_calls: [approve] }, { text: 'Done.' }]);
  expect(status).toBe('user_turn');
  const [asks] = asksOf(messages.at(-1)!);
  expect(asks).toMatchObject({ kind: 'approval', tool_use_id: 'turn_1_call_1_1', digest: expect.any(String) });
  const decision = { tool_use_id: asks?.tool_use_id, digest: asks?.digest, decision: 'approve' };
  const decide = (by: string, more: object = {}) =>
    gateway.as(by).post(threadPath(thread_id, '/approvals'), { ...decision, ...more });
  expect(refusalOf(await decide(orgs.bob)).slice(0, 2)).toEqual([403, 'RobotoUnauthorizedException']);
  expect(refusalOf(await decide(orgs.gus))[0]).toBe(404);
  expect(refusalOf(await decide(orgs.ann, { digest: 'other' }))[0]).toBe(400);
  expect(refusalOf(await decide(orgs.ann, { by: { roles: [] } }))[0]).toBe(400);
  const busy = refusalOf(await ann.post(threadPath(thread_id, '/messages'), { message: said('yes') }));
  expect(busy.slice(0, 2)).toEqual([409, 'RobotoConflictException']);
  expect(dataOf<unknown>(await decide(orgs.ann))).toEqual({ thread_id });
  // Told again, it is the same decision.
  expect(dataOf<unknown>(await decide(orgs.ann))).toEqual({ thread_id });
  expect(refusalOf(await decide(orgs.ann, { decision: 'deny' }))[0]).toBe(400);
  await until(async () => (await world.client.threads.header(thread_id)).turn === undefined, 'the turn to end');
  expect(told(dataOf(await ann.get(threadPath(thread_id)))).at(-1)).toBe('assistant completed: Done.');
  const log = await world.logOf(`${thread_id}/turn_1`);
  expect(log.find((event) => event.type === 'await_resolved')).toMatchObject({
    resolution: 'approved',
    answered_by: 'ann',
  });
});

it.each(['threads', 'chats'])(
  'results of the client’s tools are given to %s by whoever the agent says',
  async (route) => {
    const turns = [{ tool_calls: [{ tool: 'client.declared.client_look', args: {} }] }, { text: `Seen by ${route}.` }];
    const started = await ann.post('/v1/ai/threads', startBody(turns, { agent_id: 'test.supported', client_tools }));
    const { thread_id } = dataOf(started);
    await settled(world.client.threads, thread_id);
    const [pending] = (await world.client.threads.header(thread_id)).pending;
    const tool_results = [{ tool_use_id: pending?.tool_use_id, status: 'success', output: 'a lake' }];
    const give = (key: string, more: object = {}) =>
      gateway.as(key).post(threadPath(thread_id, '/tool-results').replace('threads', route), { tool_results, ...more });
    const atTheRun = { results: [{ tool_call_id: pending?.tool_call_id, status: 'success' }] };
    const run = `/v1/runs/${encodeURIComponent(`${thread_id}/turn_1`)}/tool-results`;
    for (const key of [orgs.ann, orgs.ada]) {
      expect((await gateway.as(key).post(run, atTheRun)).status).toBe(403);
      expect(refusalOf(await give(key)).slice(0, 2)).toEqual([403, 'RobotoUnauthorizedException']);
      // Who gives them is not the caller's to say.
      expect(refusalOf(await give(key, { by: { roles: ['support'] } }))[0]).toBe(400);
    }
    expect((await world.client.threads.header(thread_id)).pending).toHaveLength(1);
    const owner = { org_id: orgs.acme, user_id: 'ann', role: 'member', profiles: ['agent_debug'] } as const;
    const { key } = await orgs.keys.create({ ...owner, profiles: ['agent_debug'], roles: ['support'] });
    expect(dataOf<unknown>(await give(key))).toEqual({ thread_id });
    await until(async () => (await world.client.threads.header(thread_id)).turn === undefined, 'the turn to end');
    const log = await world.logOf(`${thread_id}/turn_1`);
    expect(log.find((event) => event.type === 'await_resolved')).toMatchObject({ answered_by: 'ann' });
    expect(log.at(-1)).toMatchObject({ status: 'success', answer: `Seen by ${route}.` });
  },
);

it('a record shows what is asked as the profile shows the pause', async () => {
  const { thread_id } = await asking([{ tool_calls: [approve] }, { text: 'Done.' }]);
  const shown = async (profile: string) => {
    const { key } = await orgs.keys.create({
      org_id: orgs.acme,
      user_id: 'ann',
      role: 'member',
      profiles: [profile as 'metrics'],
    });
    return dataOf(await gateway.as(key).get(threadPath(thread_id))).messages.at(-1);
  };
  const chat = await shown('user_chat');
  expect(JSON.stringify(chat)).toContain('secret');
  expect(asksOf(chat!)).toMatchObject([{ digest: expect.any(String) }]);
  const figures = await shown('metrics');
  expect(figures?.content).toMatchObject([{ content_type: 'text', text: '' }]);
  expect(asksOf(figures!)).toMatchObject([{ kind: 'approval', tool_use_id: 'turn_1_call_1_1' }]);
  expect(asksOf(figures!)[0]?.digest).toBeUndefined();
  await world.client.threads.cancel(thread_id);
});

it('the client for HTTP answers and decides', async () => {
  const { threads, close } = createHttpClient({ url: gateway.url, token: orgs.ann });
  const { thread_id, messages } = await asking([
    { tool_calls: [approve] },
    { tool_calls: [ask('Sure?')] },
    { text: 'Done.' },
  ]);
  const { tool_use_id = '', digest = '' } = asksOf(messages.at(-1)!)[0] ?? {};
  await threads.decideApproval(thread_id, { tool_use_id, digest, decision: 'deny', note: 'not now' });
  const isAsked = async () => asksOf((await threads.get(thread_id)).messages.at(-1)!)[0]?.kind === 'clarification';
  await until(isAsked, 'the question');
  expect(await threads.state(thread_id)).toMatchObject({ status: 'waiting_for_answer' });
  expect(await threads.send(thread_id, { message: 'Sure.' })).toMatchObject({ state: 'answered' });
  const held = await threads.get(thread_id);
  await until(async () => (await threads.state(thread_id)).status === 'waiting_for_you', 'the end');
  const delta = await threads.delta(thread_id, held.continuation_token);
  expect(applyDelta({ ...held, goals: held.goals ?? [] }, delta).messages).toEqual(
    (await threads.get(thread_id)).messages,
  );
  await close();
});
