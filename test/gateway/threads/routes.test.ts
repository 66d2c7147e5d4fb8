/** The routes of threads: what they take, what they give, and how they refuse. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AgentThreadDelta, AgentThreadGoalRecord } from '../../../contract/thread-records.js';
import { AgentThreadRecord } from '../../../contract/thread-records.js';
import { settled, told } from '../../threads/thread-world.js';
import { caller, serveFor } from '../gateway-world.js';
import {
  createThreadGateway,
  dataOf,
  refusalOf,
  said,
  startBody,
  THREAD_CATALOG,
  threadPath,
} from './thread-gateway.js';
import type { ThreadGateway } from './thread-gateway.js';

let world: ThreadGateway;
beforeAll(async () => {
  world = await createThreadGateway();
});
afterAll(() => world.stop());

const threads = () => world.world.client.threads;
const post = (path: string, body: unknown) => world.callers.ann.post(path, body);
const start = async (turns: Parameters<typeof startBody>[0], more: object = {}) =>
  dataOf(await post('/v1/ai/threads', startBody(turns, { title: randomUUID(), ...more })));

describe('starting', () => {
  it('gives the record, at work, of the first agent of the configuration', async () => {
    const record = await start([{ text: 'Hello.' }]);
    expect(AgentThreadRecord.strict().parse(record)).toEqual(record);
    expect(['roboto_turn', 'user_turn']).toContain(record.status);
    expect((await threads().header(record.thread_id)).agent_id).toBe('test.agent');
    const other = await start([{ text: 'Hello.' }], { agent_id: 'test.bare', model_profile: 'script' });
    expect((await threads().header(other.thread_id)).agent_id).toBe('test.bare');
    expect(other.model_profile).toBe('script');
  });

  it.each([
    ['an agent that there is not', { agent_id: 'test.other' }, 404, 'RobotoNotFoundException', 'test.agent, test.bare'],
    ['a profile that there is not', { model_profile: 'big' }, 404, 'RobotoNotFoundException', 'only script'],
    [
      'skills',
      { invoke_skills: [{ skill_id: 's' }] },
      400,
      'RobotoInvalidRequestException',
      'there are no skills here',
    ],
    ['skills to choose', { available_skills: [{}] }, 400, 'RobotoInvalidRequestException', 'there are no skills here'],
    ['a field that is not known', { mesages: [] }, 400, 'RobotoInvalidRequestException', 'mesages: is not known'],
    ['too many goals', { goals: Array(6).fill({ goal_type: 'x' }) }, 400, 'RobotoInvalidRequestException', 'at most 5'],
    [
      'no user’s message at the end',
      { messages: [{ role: 'assistant', content: [{ text: 'a' }] }] },
      400,
      'RobotoInvalidRequestException',
      'the last one must be the user’s',
    ],
    [
      'a tool use',
      { messages: [{ role: 'user', content: [{ tool_name: 'a', tool_use_id: 'b' }] }] },
      400,
      'RobotoInvalidRequestException',
      'messages',
    ],
    ['an id of another org', { thread_id: 'globex:1' }, 400, 'RobotoInvalidRequestException', 'must begin with'],
  ])('refuses %s', async (_what, more, status, code, message) => {
    const answer = await post('/v1/ai/threads', startBody([{ text: 'x' }], more));
    expect(refusalOf(answer)).toEqual([status, code, expect.stringContaining(message)]);
  });

  it('takes older spellings, under the older path too, and writes none', async () => {
    const chosen = `${world.orgs.acme}:${randomUUID()}`;
    const body = { ...startBody([{ text: 'Hello.' }]), session_id: chosen, context: { page: 1 } };
    const record = dataOf(await post('/v1/ai/chats', { ...body, client_context: undefined }));
    expect(record.thread_id).toBe(chosen);
    await settled(threads(), chosen);
    const read = await world.callers.ann.get(`/v1/ai/chats/${encodeURIComponent(chosen)}?load_messages=True`);
    expect(dataOf(read).messages).toHaveLength(2);
    expect(read.text).not.toMatch(/session_id|chat_id/);
  });

  it('with goals and nothing said says it for the caller; goals are flat, and whole in the record', async () => {
    const body = { ...startBody([]), messages: [], goals: [{ goal_type: 'summary', about: 'the Alps' }], title: 'x' };
    const { thread_id } = dataOf(await post('/v1/ai/threads', body));
    await settled(threads(), thread_id);
    const { goals, messages } = dataOf(await world.callers.ann.get(threadPath(thread_id)));
    expect(goals).toMatchObject([{ goal_type: 'summary', goal_data: { goal_type: 'summary', about: 'the Alps' } }]);
    expect((await threads().get(thread_id)).goals).toMatchObject([{ goal_data: { about: 'the Alps' } }]);
    expect(messages[0]?.content).toMatchObject([{ text: 'Achieve the declared goals.' }]);
    const nested = [{ goal_type: 'summary', goal_data: { about: 'the Jura' } }];
    const sent = await post(threadPath(thread_id, '/messages'), { message: null, goals: nested });
    dataOf(sent);
    await settled(threads(), thread_id);
    const after = dataOf(await world.callers.ann.get(threadPath(thread_id))).goals as AgentThreadGoalRecord[];
    expect(after[1]?.goal_data).toEqual({ goal_type: 'summary', about: 'the Jura' });
    const nothing = await post(threadPath(thread_id, '/messages'), { message: null });
    expect(refusalOf(nothing).slice(0, 2)).toEqual([400, 'RobotoInvalidRequestException']);
  });

  it('says for whom it is by the credential, and takes metadata; a fork is its forker’s', async () => {
    const asked = async (threadId: string) => {
      const { events } = await world.world.temporal.workflow.getHandle(threadId).fetchHistory();
      const input = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads?.[0]?.data ?? '';
      const request = JSON.parse(Buffer.from(input as Uint8Array).toString()) as Record<string, unknown>;
      return [request['created_by'], request['roles'], request['metadata']];
    };
    const metadata = { locale: 'de' };
    const { thread_id } = await start([{ text: 'Hello.' }], { visibility: 'org', metadata });
    await settled(threads(), thread_id);
    expect(await asked(thread_id)).toEqual(['ann', ['member'], metadata]);
    const body = { message_sequence_num: 1 };
    const fork = async (by: 'ann' | 'bob' | 'ada') =>
      asked(dataOf(await world.callers[by].post(threadPath(thread_id, '/fork'), body)).thread_id);
    expect(await fork('ann')).toEqual(['ann', ['member'], metadata]);
    expect(await fork('bob')).toEqual(['bob', ['member'], undefined]);
    expect(await fork('ada')).toEqual(['ada', ['admin'], undefined]);
    const large = await post('/v1/ai/threads', startBody([], { metadata: { text: 'x'.repeat(17_000) } }));
    expect(refusalOf(large)[0]).toBe(413);
    const agent = { name: 'x', request_template: { messages: ['x'], metadata }, variables: [] };
    expect(refusalOf(await post('/v1/ai/agents', agent))[2]).toContain('request_template.metadata: is not known');
  });

  it('without auth has no owner, and the org that is named', async () => {
    const gateway = await serveFor(world.world, { kind: 'off' }, { catalog: THREAD_CATALOG });
    try {
      const local = caller(gateway.url);
      const body = startBody([{ text: 'Hello.' }], { title: randomUUID() });
      const record = dataOf(await local.post('/v1/ai/threads', body, { 'x-roboto-org-id': 'og_1' }));
      expect(record).toMatchObject({ org_id: 'og_1', created_by: '' });
      expect(dataOf(await local.get(threadPath(record.thread_id))).thread_id).toBe(record.thread_id);
    } finally {
      await gateway.stop();
    }
  });
});

describe('reading', () => {
  it('a record without its messages has a token that gives them all', async () => {
    const { thread_id } = await start([{ text: 'Hello.' }]);
    await settled(threads(), thread_id);
    const bare = dataOf(await world.callers.ann.get(threadPath(thread_id, '?load_messages=False')));
    expect([bare.messages, bare.goals, bare.status]).toEqual([[], null, 'user_turn']);
    const token = bare.continuation_token;
    const delta = dataOf<AgentThreadDelta>(
      await world.callers.ann.get(threadPath(thread_id, `/delta?next_token=${token}`)),
    );
    expect(Object.keys(delta.messages_by_idx)).toEqual(['0', '1']);
    expect(delta).toMatchObject({ goals: [], status: 'user_turn', reset_from_message_sequence_num: null });
  });

  it('what was said by POST is in the next delta, and nothing comes twice', async () => {
    const { thread_id } = await start([{ text: 'One.' }, { text: ['T', 'w', 'o'], delay_ms: 50 }]);
    let { continuation_token } = await settled(threads(), thread_id);
    const poll = async () => {
      const answer = await world.callers.ann.get(threadPath(thread_id, `/delta?next_token=${continuation_token}`));
      const delta = dataOf<AgentThreadDelta>(answer);
      ({ continuation_token } = delta);
      return delta;
    };
    dataOf(await post(threadPath(thread_id, '/messages'), { message: said('more') }));
    let delta = await poll();
    expect(['roboto_turn', 'user_turn']).toContain(delta.status);
    expect(Object.keys(delta.messages_by_idx)[0]).toBe('2');
    const words: string[] = [];
    for (let status = delta.status; ; delta = await poll(), status = delta.status ?? status) {
      for (const block of delta.messages_by_idx['3']?.content ?? [])
        if (block.content_type === 'text') words.push(block.text);
      if (status === 'user_turn') break;
    }
    expect(words.join('')).toBe('Two');
    expect((await poll()).messages_by_idx).toEqual({});
  });

  it.each([
    ['a token of another thread', '/delta?next_token=abc.def', 'read the thread again'],
    ['no token', '/delta', 'next_token'],
    ['something else than yes or no', '?load_messages=perhaps', 'must be true or false'],
  ])('%s is refused', async (_what, rest, message) => {
    const { thread_id } = await start([{ text: 'Hello.' }]);
    const answer = await world.callers.ann.get(threadPath(thread_id, rest));
    expect(refusalOf(answer)).toEqual([400, 'RobotoInvalidRequestException', expect.stringContaining(message)]);
  });
});

describe('what is done with a thread', () => {
  it('cancel, title, visibility and deletion', async () => {
    const { ann } = world.callers;
    const { thread_id } = await start([{ text: ['Hm'], hang: true }]);
    expect(dataOf(await post(threadPath(thread_id, '/cancel'), {}))).toEqual({
      thread_id,
      run_id: `${thread_id}/turn_1`,
    });
    expect(told(await settled(threads(), thread_id)).at(-1)).toContain('error cancelled');
    expect(dataOf(await post(threadPath(thread_id, '/cancel'), undefined))).toEqual({ thread_id });
    dataOf(await ann.call('PUT', threadPath(thread_id), { title: 'Another' }));
    expect(dataOf(await ann.get(threadPath(thread_id))).title).toBe('Another');
    expect(refusalOf(await ann.call('PUT', threadPath(thread_id), { title: ' ' }))[0]).toBe(400);
    dataOf(await post(threadPath(thread_id, '/visibility'), { visibility: 'private' }));
    const changed = await post(threadPath(thread_id, '/visibility'), { visibility: 'org' });
    expect(refusalOf(changed)).toEqual([
      400,
      'RobotoInvalidRequestException',
      expect.stringContaining(`was set to "private" when thread ${thread_id} was made`),
    ]);
    expect(dataOf(await ann.call('DELETE', threadPath(thread_id)))).toEqual({ thread_id });
    expect(refusalOf(await post(threadPath(thread_id, '/messages'), { message: 'late' }))[0]).toBe(404);
  });

  it('a message that interrupts goes first', async () => {
    const { thread_id } = await start([{ text: ['Hm'], hang: true }, { text: 'Two.' }]);
    dataOf(await post(threadPath(thread_id, '/messages'), { message: said('now'), on_busy: 'interrupt' }));
    await settled(threads(), thread_id);
    expect(told(await threads().get(thread_id)).slice(-2)).toEqual([
      'user completed: now',
      'assistant completed: Two.',
    ]);
  });

  it('a method and a path that there are not are refused in the same envelope', async () => {
    const { ann } = world.callers;
    expect(refusalOf(await ann.call('DELETE', '/v1/ai/threads'))[0]).toBe(405);
    expect(refusalOf(await ann.get('/v1/ai/nothing')).slice(0, 2)).toEqual([404, 'RobotoNotFoundException']);
  });
});

it('model profiles are listed', async () => {
  const { items, next_token } = dataOf<{ items: unknown[]; next_token: null }>(
    await world.callers.ann.get('/v1/ai/model-profiles'),
  );
  expect(items).toEqual(THREAD_CATALOG.model_profiles);
  expect(next_token).toBeNull();
});

it('the turns of a thread are runs like others', async () => {
  const { thread_id } = await start([{ text: 'Hello.' }]);
  await settled(threads(), thread_id);
  const path = `/v1/runs/${encodeURIComponent(`${thread_id}/turn_1`)}`;
  expect((await world.callers.ann.get(path)).body).toMatchObject({ status: 'success', answer: 'Hello.' });
  expect((await world.callers.ann.get(`${path}/events?follow=false`)).text).toContain('run_completed');
  expect((await world.callers.ann.get(path.replace('turn_1', 'turn_2'))).body['error']).toMatchObject({
    code: 'unknown_run',
  });
});
