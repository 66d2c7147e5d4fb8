/** Launches of stored agents over a real gateway and a real worker. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { StoredAgent } from '../../../contract/stored-agent.js';
import { script } from '../../support/test-agents.js';
import { settled, told } from '../../threads/thread-world.js';
import { serveFor } from '../gateway-world.js';
import type { Answer, Caller } from '../gateway-world.js';
import { createThreadGateway, dataOf, refusalOf, THREAD_CATALOG } from '../threads/thread-gateway.js';
import type { ThreadGateway } from '../threads/thread-gateway.js';
import { greeter, isDescribed } from './greeter.js';

let world: ThreadGateway['world'];
let orgs: ThreadGateway['orgs'];
let callers: ThreadGateway['callers'];
let stop: ThreadGateway['stop'];

beforeAll(async () => {
  ({ world, orgs, callers, stop } = await createThreadGateway());
});
afterAll(() => stop());

async function stored(body: object): Promise<string> {
  return dataOf<StoredAgent>(await callers.ann.post('/v1/ai/agents', body)).agent_id;
}

const launch = (agentId: string, body: object = {}, by: Caller = callers.ann, headers = {}): Promise<Answer> =>
  by.post(`/v1/ai/agents/${agentId}/launch`, body, headers);

describe('a launch', () => {
  it('starts a thread of whoever launches, with the values in the template, for all of the org', async () => {
    const agentId = await stored(greeter('greeter'));
    const answer = await launch(agentId, { values: { who: 'Ada' } }, callers.bob);
    isDescribed('launchStoredAgent', answer);
    const { thread_id, ...record } = dataOf(answer);
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
    expect((await callers.ann.get(`/v1/ai/threads/${thread_id}`)).status).toBe(200);
  });

  it('can be private, whatever the template says of it', async () => {
    const { request_template, variables } = greeter('');
    const agentId = await stored({
      name: 'open',
      request_template: { ...request_template, visibility: 'org' },
      variables,
    });
    const { thread_id, visibility } = dataOf(await launch(agentId, { values: { who: 'me' }, visibility: 'private' }));
    expect(visibility).toBe('private');
    expect((await callers.bob.get(`/v1/ai/threads/${thread_id}`)).status).toBe(404);
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
    const { thread_id } = dataOf(await launch(agentId, { values: { topic: 'Oslo' }, analysis_scope }));
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
    const { thread_id } = dataOf(await launch(agentId, { values: { one: '{{two}}', two: '$& {{x}}' } }));
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
    const [status, code, message] = refusalOf(await launch(agentId, { values }));
    expect([status, code]).toEqual([400, 'RobotoInvalidRequestException']);
    for (const name of named) expect(message).toContain(name);
    expect(message).not.toContain('values.otherwise');
  });

  it('that make a request of it that cannot be taken are refused', async () => {
    const request_template = { messages: ['{{text}}'], model_profile: '{{profile}}' };
    const agentId = await stored({ name: 'odd', request_template, variables: [{ name: 'text' }, { name: 'profile' }] });
    const empty = refusalOf(await launch(agentId, { values: { text: '', profile: 'script' } }));
    expect(empty[0]).toBe(400);
    expect(empty[2]).toContain('messages.0.content.0.text: must not be empty');
    // Before anything is started.
    const start = () => Promise.reject(new Error('a thread was started'));
    const gateway = await serveFor(world, orgs.auth, {
      catalog: THREAD_CATALOG,
      threads: { ...world.client.threads, start },
    });
    try {
      const odd = { values: { text: 'x', profile: 'huge' } };
      const missing = [404, 'RobotoNotFoundException', expect.stringContaining('"huge"')];
      expect(refusalOf(await launch(agentId, odd, gateway.as(orgs.ann)))).toEqual(missing);
    } finally {
      await gateway.stop();
    }
  });
});

describe('a template that asks for more text than there is room for', () => {
  const blocks = (count: number) => Array.from({ length: count }, () => ({ text: '{{a}}'.repeat(50) }));
  const bomb = (name: string, count: number, more: object = {}) => ({
    name,
    request_template: { messages: [{ content: blocks(count) }] },
    variables: [{ name: 'a', ...more }],
  });

  it('is measured before it is filled in, by its values and by its defaults', async () => {
    const a = 'x'.repeat(200 * 1024);
    const before = process.memoryUsage().rss;
    const bytes = 100 * 50 * a.length;
    for (const [more, values] of [
      [{}, { a }],
      [{ default: a }, {}],
    ]) {
      const agentId = await stored(bomb(`bomb-${Object.keys(values ?? {}).length}`, 100, more));
      const [status, , message] = refusalOf(await launch(agentId, { values }));
      expect(status).toBe(413);
      expect(message).toContain(`agent ${agentId}, with these values, has ${String(bytes).slice(0, 6)}`);
    }
    // It would be a gigabyte, twice.
    expect(process.memoryUsage().rss - before).toBeLessThan(500 * 1024 * 1024);
  });

  it('is refused by the size of its values and variables, and by how many there are', async () => {
    const a = 'x'.repeat(256 * 1024);
    const agentId = await stored(bomb('large-values', 1));
    const values = refusalOf(await launch(agentId, { values: { a } }));
    expect([values[0], values[2]]).toEqual([413, expect.stringMatching(/^values has 262152 bytes; at most 262144/)]);
    const post = async (body: object) => refusalOf(await callers.ann.post('/v1/ai/agents', body));
    const variables = await post(bomb('large-default', 1, { default: a }));
    expect([variables[0], variables[2]]).toEqual([413, expect.stringMatching(/^variables has \d+ bytes/)]);
    const name = (n: number) => ({ name: `v${n}` });
    const many = await post({ ...bomb('many', 1), variables: Array.from({ length: 101 }, (_, n) => name(n)) });
    expect([many[0], many[2]]).toEqual([400, expect.stringContaining('variables: at most 100')]);
  });

  it('has its mistakes counted, and the first ones named', async () => {
    const body = { ...bomb('undeclared', 100), variables: [] };
    const [status, , message] = refusalOf(await callers.ann.post('/v1/ai/agents', body));
    expect(status).toBe(400);
    expect(message).toContain('{{a}} is not among the variables');
    expect(message).toContain('; and 4950 more');
    expect(message.length).toBeLessThan(10_000);
  });
});

describe('a launch that is sent again', () => {
  const values = { who: 'Ada' };

  it('gives the thread that it started, until that was read; then it is a new launch', async () => {
    const agentId = await stored(greeter('repeated'));
    const [first, second] = await Promise.all([launch(agentId, { values }), launch(agentId, { values })]);
    const { thread_id } = dataOf(first);
    expect(dataOf(second).thread_id).toBe(thread_id);
    expect(dataOf(await launch(agentId, { values })).thread_id).toBe(thread_id);
    expect((await callers.ann.get(`/v1/ai/threads/${thread_id}`)).status).toBe(200);
    const later = dataOf(await launch(agentId, { values }));
    expect(later.thread_id).not.toBe(thread_id);
    expect(told(await settled(world.client.threads, later.thread_id))).toHaveLength(2);
  });

  it('is another one with other values, of another agent, and by somebody else', async () => {
    const [one, other] = [await stored(greeter('one')), await stored(greeter('other'))];
    const answers = [
      await launch(one, { values }),
      await launch(one, { values: { who: 'Bea' } }),
      await launch(other, { values }),
      await launch(one, { values }, callers.bob),
    ];
    expect(new Set(answers.map((answer) => dataOf(answer).thread_id)).size).toBe(4);
  });

  it('is the same under the same key, also after it was read', async () => {
    const agentId = await stored(greeter('keyed'));
    const headers = { 'idempotency-key': `launch-${agentId}` };
    const { thread_id } = dataOf(await launch(agentId, { values }, callers.ann, headers));
    await callers.ann.get(`/v1/ai/threads/${thread_id}`);
    expect(dataOf(await launch(agentId, { values }, callers.ann, headers)).thread_id).toBe(thread_id);
    expect(refusalOf(await launch(agentId, { values: { who: 'Bea' } }, callers.ann, headers))[0]).toBe(409);
  });
});
