/** A record, and its deltas, show a credential no more than the streams of the thread's runs do. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AgentThreadDelta, AgentThreadRecord } from '../../../contract/thread-records.js';
import { call } from '../../support/test-agents.js';
import { client_tools, settled } from '../../threads/thread-world.js';
import type { Caller } from '../gateway-world.js';
import { createThreadGateway, dataOf, refusalOf, startBody, threadPath } from './thread-gateway.js';
import type { ThreadGateway } from './thread-gateway.js';

let world: ThreadGateway;
let threadId: string;
type Seen = 'agent_debug' | 'user_chat' | 'metrics';
let as: Record<Seen, Caller>;
const look = { tool: 'client.declared.client_look', args: { at: 'the map' } };

beforeAll(async () => {
  world = await createThreadGateway();
  const { acme, keys } = world.orgs;
  const caller = async (profile: Seen) =>
    world.gateway.as((await keys.create({ org_id: acme, user_id: 'ann', role: 'member', profiles: [profile] })).key);
  as = {
    agent_debug: await caller('agent_debug'),
    user_chat: await caller('user_chat'),
    metrics: await caller('metrics'),
  };
  const turns = [
    {
      text: 'Looking.',
      tool_calls: [call('tools.echo', { text: 'SECRET-1' }), call('tools.quick', { do: 'SECRET-2' }), look],
    },
    { text: 'Hello.' },
    { fail: { code: 'model_unauthorized' } },
  ];
  const body = startBody(turns as never, { client_tools, title: 'About SECRET-3' });
  const started = dataOf(await as.agent_debug.post('/v1/ai/threads', body));
  threadId = started.thread_id;
  await settled(world.world.client.threads, threadId);
  const result = { tool_use_id: 'turn_1_call_1_3', status: 'success', output: 'SECRET-4' };
  dataOf(await as.agent_debug.post(threadPath(threadId, '/tool-results'), { tool_results: [result] }));
  await settled(world.world.client.threads, threadId);
  dataOf(await as.agent_debug.post(threadPath(threadId, '/messages'), { message: 'And?' }));
  await settled(world.world.client.threads, threadId);
}, 60_000);
afterAll(() => world.stop());

const paths = ['/v1/ai/threads', '/v1/ai/chats'];
const record = async (caller: Caller, path = paths[0], rest = '') =>
  AgentThreadRecord.parse(dataOf(await caller.get(`${path}/${threadId}${rest}`)));

/** What is said to the model first is the script, with all that it makes the agent do. */
const afterScript = ({ messages }: Pick<AgentThreadRecord, 'messages'>) => JSON.stringify(messages.slice(1));
const secretsIn = (text: string) => [...new Set(text.match(/SECRET-\d/g))].toSorted();

describe.each(paths)('%s', (path) => {
  it('shows a debugger everything', async () => {
    const shown = await record(as.agent_debug, path);
    expect(secretsIn(afterScript(shown))).toEqual(['SECRET-1', 'SECRET-2', 'SECRET-4']);
    expect(shown.title).toBe('About SECRET-3');
  });

  it('shows a user what is said, and its own tools; no arguments, results and errors of others', async () => {
    const shown = await record(as.user_chat, path);
    expect(secretsIn(afterScript(shown))).toEqual([]);
    const [, asked, done, said, , failed] = shown.messages;
    expect(asked?.content).toMatchObject([
      { content_type: 'text', text: 'Looking.' },
      { tool_name: 'echo', tool_use_id: 'turn_1_call_1_1', input: {}, raw_request: { arguments: '{}' } },
      { tool_name: 'quick', tool_use_id: 'turn_1_call_1_2', input: {}, raw_request: { arguments: '{}' } },
      { tool_name: 'client_look', tool_use_id: 'turn_1_call_1_3', input: { at: 'the map' } },
    ]);
    const results = done?.content.toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)));
    expect(results).toMatchObject([
      { tool_name: 'client_look', status: 'success', raw_response: null },
      { tool_name: 'echo', status: 'success', raw_response: null },
      { tool_name: 'quick', status: 'error', raw_response: null, told: { failure: { message: '', issues: [] } } },
    ]);
    expect(said?.content).toEqual([{ content_type: 'text', text: 'Hello.' }]);
    expect(failed).toEqual((await record(as.agent_debug, path)).messages[5]);
    expect(shown.title).toBe('About SECRET-3');
  });

  it('shows whoever counts no word of anybody', async () => {
    const shown = await record(as.metrics, path);
    expect(JSON.stringify(shown)).not.toMatch(/SECRET|Looking|Hello|And\?|the map/);
    expect([shown.title, shown.goals]).toEqual([null, null]);
    const shapes = ({ messages }: AgentThreadRecord) =>
      messages.map(({ role, status, content }) => [role, status, content.map((block) => block.content_type)]);
    expect(shapes(shown)).toEqual(shapes(await record(as.agent_debug, path)));
  });

  it.each(['agent_debug', 'user_chat', 'metrics'] as const)('its delta gives %s the same', async (profile) => {
    const whole = await record(as[profile], path);
    const { continuation_token } = await record(as[profile], path, '?load_messages=false');
    const answer = await as[profile].get(`${path}/${threadId}/delta?next_token=${continuation_token}`);
    const delta = AgentThreadDelta.parse(dataOf(answer));
    expect(Object.values(delta.messages_by_idx)).toEqual(whole.messages);
    expect([delta.title, delta.goals]).toEqual([whole.title, whole.goals]);
  });
});

it('a profile is chosen among those of the credential', async () => {
  const narrow = await world.callers.ann.get(threadPath(threadId, '?profile=user_chat'));
  expect(dataOf(narrow)).toEqual(dataOf(await as.user_chat.get(threadPath(threadId))));
  expect(refusalOf(await as.user_chat.get(threadPath(threadId, '?profile=agent_debug')))[0]).toBe(403);
});

it('a fork of somebody else’s thread holds what its forker may read, for the model too', async () => {
  const { acme, keys } = world.orgs;
  const turns = [{ tool_calls: [call('tools.echo', { text: 'SECRET-5' })] }, { text: 'Hello.' }];
  const started = await as.agent_debug.post('/v1/ai/threads', startBody(turns, { visibility: 'org' }));
  const { thread_id } = dataOf(started);
  await settled(world.world.client.threads, thread_id);
  const forked = async (user_id: string, profile: Seen, role: 'member' | 'admin' = 'member') => {
    const { key } = await keys.create({ org_id: acme, user_id, role, profiles: [profile] });
    const body = { message_sequence_num: 3 };
    const fork = dataOf(await world.gateway.as(key).post(threadPath(thread_id, '/fork'), body));
    return secretsIn(afterScript(await world.world.client.threads.get(fork.thread_id)));
  };
  expect(await forked('bob', 'user_chat')).toEqual([]);
  expect(await forked('bea', 'agent_debug')).toEqual(['SECRET-5']);
  // Those who may write to the thread could ask it themselves.
  expect(await forked('ann', 'user_chat')).toEqual(['SECRET-5']);
  expect(await forked('ada', 'user_chat', 'admin')).toEqual(['SECRET-5']);
});

it('lists and forks show no more', async () => {
  const fork = await as.user_chat.post(threadPath(threadId, '/fork'), { message_sequence_num: 3 });
  expect(secretsIn(afterScript(dataOf(fork)))).toEqual([]);
  for (const path of ['/v1/ai/threads', '/v1/threads', `/v1/threads/${threadId}`]) {
    expect((await as.metrics.get(path)).text).not.toContain('SECRET');
  }
});
