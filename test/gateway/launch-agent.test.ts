/** Launches of stored agents over a real gateway and a real worker. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { script } from '../support/test-agents.js';
import { createWorld } from '../support/world.js';
import type { World } from '../support/world.js';
import { settled, threadConfig, told } from '../threads/thread-world.js';
import { agentOf, AGENTS_CATALOG, greeter, isDescribed, refusal, threadOf } from './agents-world.js';
import { createOrgs, serveFor } from './gateway-world.js';
import type { Answer, Caller, GatewayWorld, Orgs } from './gateway-world.js';

let world: World;
let orgs: Orgs;
let gateway: GatewayWorld;
let [ann, bob]: Caller[] = [];

beforeAll(async () => {
  world = await createWorld(threadConfig());
  orgs = await createOrgs();
  const limits = { requests_per_second: 1_000, request_burst: 1_000 };
  gateway = await serveFor(world, orgs.auth, { limits, catalog: AGENTS_CATALOG });
  [ann, bob] = [orgs.ann, orgs.bob].map((key) => gateway.as(key));
});
afterAll(async () => {
  await gateway.stop();
  await world.end();
  await orgs.remove();
});

async function stored(body: object): Promise<string> {
  return agentOf(await ann!.post('/v1/ai/agents', body)).agent_id;
}

const launch = (agentId: string, body: object = {}, by: Caller = ann!, headers = {}): Promise<Answer> =>
  by.post(`/v1/ai/agents/${agentId}/launch`, body, headers);

describe('a launch', () => {
  it('starts a thread of whoever launches, with the values in the template, for all of the org', async () => {
    const agentId = await stored(greeter('greeter'));
    const answer = await launch(agentId, { values: { who: 'Ada' } }, bob);
    isDescribed('launchStoredAgent', answer);
    const { thread_id, ...record } = threadOf(answer);
    expect(record).toMatchObject({
      org_id: orgs.acme,
      created_by: 'bob',
      created_from_agent_id: agentId,
      visibility: 'org',
      forked_from_thread_id: null,
    });
    expect(told(await settled(world.client.threads, thread_id))).toEqual([
      'user completed: (script)',
      'assistant completed: Hello, Ada.',
    ]);
    expect((await ann!.get(`/v1/ai/threads/${thread_id}`)).status).toBe(200);
  });

  it('can be private, whatever the template says of it', async () => {
    const { request_template, variables } = greeter('');
    const agentId = await stored({
      name: 'open',
      request_template: { ...request_template, visibility: 'org' },
      variables,
    });
    const { thread_id, visibility } = threadOf(await launch(agentId, { values: { who: 'me' }, visibility: 'private' }));
    expect(visibility).toBe('private');
    expect((await bob!.get(`/v1/ai/threads/${thread_id}`)).status).toBe(404);
  });

  it('gives the agent that the template names all that the template holds', async () => {
    const agentId = await stored({
      name: 'full',
      request_template: {
        agent_id: 'test.agent',
        messages: [script([{ tool_calls: [{ tool: 'client.declared.client_look', args: {} }] }, { text: 'Seen.' }])],
        goals: [{ goal_type: 'summary', about: '{{topic}}' }],
        client_tools: [{ name: 'client_look', description: 'Looks at {{topic}}.', input_schema: { type: 'object' } }],
        model_profile: 'script',
        system_prompt: 'Be {{manner}}.',
        client_context: { page: '{{topic}}' },
        analysis_scope: { start_time: 1, end_time: 5 },
      },
      variables: [{ name: 'topic' }, { name: 'manner', required: false, default: 'brief' }],
    });
    const analysis_scope = { start_time: null, end_time: 9 };
    const { thread_id } = threadOf(await launch(agentId, { values: { topic: 'Oslo' }, analysis_scope }));
    const record = await settled(world.client.threads, thread_id);
    expect(record).toMatchObject({ status: 'client_tool_turn', model_profile: 'script' });
    expect(record.goals).toMatchObject([{ goal_type: 'summary', goal_data: { about: 'Oslo' } }]);
    expect(await world.client.threads.header(thread_id)).toMatchObject({ agent_id: 'test.agent' });
    const handle = world.temporal.workflow.getHandle(thread_id);
    const { events } = await handle.fetchHistory();
    const started = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads?.[0]?.data ?? '';
    expect(JSON.parse(Buffer.from(started as Uint8Array).toString())).toMatchObject({
      system_prompt: 'Be brief.',
      client_context: { page: 'Oslo' },
      analysis_scope: { start_time: 1, end_time: 9 },
      client_tools: [{ name: 'client_look', description: 'Looks at Oslo.' }],
    });
  });

  it('fills a value in once: what looks like a placeholder in it stays', async () => {
    const request_template = { messages: [script([{ text: '{{one}} and {{ two }}, {{one}}' }])] };
    const agentId = await stored({ name: 'pair', request_template, variables: [{ name: 'one' }, { name: 'two' }] });
    const { thread_id } = threadOf(await launch(agentId, { values: { one: '{{two}}', two: '$& {{x}}' } }));
    const { messages } = await settled(world.client.threads, thread_id);
    expect(messages[1]?.content).toEqual([{ content_type: 'text', text: '{{two}} and $& {{x}}, {{two}}' }]);
  });
});

describe('values', () => {
  const choosy = () => ({
    name: 'choosy',
    request_template: { messages: ['{{text}} of {{set}}, {{otherwise}}'] },
    variables: [{ name: 'text' }, { name: 'set', type: 'dataset_id' }, { name: 'otherwise', default: '' }],
  });
  it.each([
    ['missing', { text: 'x' }, ['values.set: is missing']],
    ['missing, several', {}, ['values.text: is missing', 'values.set: is missing']],
    ['unknown', { text: 'x', set: 'ds_1', colour: 'red', size: '1' }, ['values.colour: is not', 'values.size: is not']],
    ['no text', { text: 7, set: 'ds_1' }, ['values.text: must be a text']],
    ['null', { text: 'x', set: null }, ['values.set: must be a text']],
    ['empty, and an id', { text: '', set: ' ' }, ['values.set: is empty, and must be a dataset_id']],
  ])('that are %s are refused by name', async (_what, values, named) => {
    const agentId = await stored(choosy());
    const [status, code, message] = refusal(await launch(agentId, { values }));
    expect([status, code]).toEqual([400, 'RobotoInvalidRequestException']);
    for (const name of named) expect(message).toContain(name);
    expect(message).not.toContain('values.otherwise');
  });

  it('that make a request of it that cannot be taken are refused', async () => {
    const request_template = { messages: ['{{text}}'], model_profile: '{{profile}}' };
    const agentId = await stored({ name: 'odd', request_template, variables: [{ name: 'text' }, { name: 'profile' }] });
    const empty = refusal(await launch(agentId, { values: { text: '', profile: 'script' } }));
    expect(empty[0]).toBe(400);
    expect(empty[2]).toContain('messages.0.content.0.text: must not be empty');
    expect(refusal(await launch(agentId, { values: { text: 'x', profile: 'huge' } }))).toEqual([
      404,
      'RobotoNotFoundException',
      expect.stringContaining('"huge"'),
    ]);
  });
});

describe('a launch that is sent again', () => {
  const values = { who: 'Ada' };

  it('gives the thread that it started, until that was read; then it is a new launch', async () => {
    const agentId = await stored(greeter('repeated'));
    const [first, second] = await Promise.all([launch(agentId, { values }), launch(agentId, { values })]);
    const { thread_id } = threadOf(first);
    expect(threadOf(second).thread_id).toBe(thread_id);
    expect(threadOf(await launch(agentId, { values })).thread_id).toBe(thread_id);
    expect((await ann!.get(`/v1/ai/threads/${thread_id}`)).status).toBe(200);
    const later = threadOf(await launch(agentId, { values }));
    expect(later.thread_id).not.toBe(thread_id);
    expect(told(await settled(world.client.threads, later.thread_id))).toHaveLength(2);
  });

  it('is another one with other values, of another agent, and by somebody else', async () => {
    const [one, other] = [await stored(greeter('one')), await stored(greeter('other'))];
    const answers = [
      await launch(one, { values }),
      await launch(one, { values: { who: 'Bea' } }),
      await launch(other, { values }),
      await launch(one, { values }, bob),
    ];
    expect(new Set(answers.map((answer) => threadOf(answer).thread_id)).size).toBe(4);
  });

  it('is the same under the same key, also after it was read', async () => {
    const agentId = await stored(greeter('keyed'));
    const headers = { 'idempotency-key': `launch-${agentId}` };
    const { thread_id } = threadOf(await launch(agentId, { values }, ann, headers));
    await ann!.get(`/v1/ai/threads/${thread_id}`);
    expect(threadOf(await launch(agentId, { values }, ann, headers)).thread_id).toBe(thread_id);
    expect(refusal(await launch(agentId, { values: { who: 'Bea' } }, ann, headers))[0]).toBe(409);
  });
});
