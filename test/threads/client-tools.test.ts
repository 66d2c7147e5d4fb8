/** Client tools of a thread: whose turn it is, and which results are taken. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AgentSpec } from '../../contract/agent-spec.js';
import { toolName } from '../../contract/ids.js';
import type { AgentToolResultContent } from '../../contract/thread-records.js';
import { script } from '../support/test-agents.js';
import { createWorld } from '../support/world.js';
import type { World } from '../support/world.js';
import { client_tools, contextOf, follow, settled, threadConfig, told } from './thread-world.js';

let world: World;
beforeAll(async () => {
  world = await createWorld(threadConfig());
});
afterAll(() => world.end());

const look = { tool: 'client.declared.client_look', args: { at: 'the map' } };
const start = (...turns: Parameters<typeof script>[0]) =>
  world.client.threads.start({ agent_id: 'test.agent', messages: [script(turns)], client_tools });

it('it is the client’s turn until every pending use has its result, and then the agent’s at once', async () => {
  const { threads } = world.client;
  const begun = await start({ text: 'Look.', tool_calls: [look, look] }, { text: 'Seen.' });
  const { thread_id } = begun;
  const reader = follow(threads, begun);
  while (reader.held().status === 'roboto_turn') await reader.poll();
  // What is asked is there as soon as it is said that it is asked.
  expect(told(reader.held()).at(-1)).toBe('assistant completed: Look. | use turn_1_call_1_1 | use turn_1_call_1_2');
  expect(reader.held().status).toBe('client_tool_turn');

  const result = {
    tool_use_id: 'turn_1_call_1_1',
    status: 'success',
    runtime_ms: 12.4,
    output: { seen: 'a hill' },
  } as const;
  await threads.submitToolResults(thread_id, { tool_results: [result] });
  expect((await threads.get(thread_id)).status).toBe('client_tool_turn');
  await threads.submitToolResults(thread_id, {
    tool_results: [{ tool_use_id: 'turn_1_call_1_2', status: 'declined', output: 'no' }],
  });
  await reader.poll();
  expect(reader.held().status).not.toBe('client_tool_turn');
  const record = await settled(threads, thread_id);
  while (reader.held().status !== 'user_turn') await reader.poll();
  expect(reader.held().messages).toEqual(record.messages);
  const results = record.messages[2]?.content as AgentToolResultContent[];
  expect(results.toSorted((a, b) => a.tool_use_id.localeCompare(b.tool_use_id))).toMatchObject([
    { tool_name: 'client_look', status: 'success', runtime_ms: 12, raw_response: { seen: 'a hill' } },
    { tool_name: 'client_look', status: 'declined', raw_response: { error: 'no' } },
  ]);
  expect(told(record).at(-1)).toBe('assistant completed: Seen.');
});

it('a client tool has the name that its language gave it', async () => {
  const { threads } = world.client;
  const tools = ['client_lookUp', 'client_lookup', 'client_2D'].map((name) => ({
    name,
    description: 'Looks.',
    input_schema: { type: 'object' },
  }));
  const calls = tools.map(({ name }) => ({ tool: `client.declared.${name}`, args: {} }));
  const { thread_id } = await threads.start({
    agent_id: 'test.agent',
    messages: [script([{ tool_calls: calls }, { text: 'Seen.' }])],
    client_tools: tools,
  });
  const { messages } = await settled(threads, thread_id);
  const uses = messages.flatMap(({ content }) =>
    content.flatMap((block) => (block.content_type === 'tool_use' ? [block] : [])),
  );
  expect(uses.map(({ tool_name }) => tool_name)).toEqual(tools.map(({ name }) => name));
  const tool_results = uses.map(({ tool_use_id }) => ({ tool_use_id, status: 'success' as const }));
  await threads.submitToolResults(thread_id, { tool_results });
  expect(told(await settled(threads, thread_id)).at(-1)).toBe('assistant completed: Seen.');
});

it('a second, a foreign and a malformed result are refused, and change nothing', async () => {
  const { threads } = world.client;
  const { thread_id } = await start({ tool_calls: [look, look] }, { text: 'Seen.' });
  await settled(threads, thread_id);
  const give = (tool_use_id: string, status = 'success') =>
    threads.submitToolResults(thread_id, { tool_results: [{ tool_use_id, status: status as 'success' }] });
  await give('turn_1_call_1_1');
  for (const id of ['turn_1_call_1_1', 'turn_2_call_1_1', 'call_1_1', ''])
    await expect(give(id)).rejects.toMatchObject({ code: 'invalid_request' });
  await expect(give('turn_1_call_1_2', 'great')).rejects.toThrow(/status must be/);
  const twice = { tool_use_id: 'turn_1_call_1_2', status: 'success' as const };
  await expect(threads.submitToolResults(thread_id, { tool_results: [twice, twice] })).rejects.toThrow(/twice/);
  expect((await threads.header(thread_id)).pending).toHaveLength(1);
  await give('turn_1_call_1_2');
  expect(told(await settled(threads, thread_id)).at(-1)).toBe('assistant completed: Seen.');
  await expect(give('turn_1_call_1_2')).rejects.toThrow(/Nothing is pending/);
});

it('a result that the run was given directly is no longer asked of the thread', async () => {
  const { threads, runs } = world.client;
  const { thread_id } = await start({ tool_calls: [look] }, { text: 'Seen.' });
  await settled(threads, thread_id);
  await runs.submitToolResults(`${thread_id}/turn_1`, { results: [{ tool_call_id: 'call_1_1', status: 'success' }] });
  while ((await threads.get(thread_id)).status !== 'user_turn');
  expect(told(await threads.get(thread_id)).at(-1)).toBe('assistant completed: Seen.');
});

it('a turn that is canceled while it waits for the client is over', async () => {
  const { threads } = world.client;
  const { thread_id } = await start({ tool_calls: [look] }, { text: 'Fine.' });
  await settled(threads, thread_id);
  await threads.cancel(thread_id);
  while ((await threads.get(thread_id)).status !== 'user_turn');
  expect(told(await threads.get(thread_id)).slice(1)).toEqual([
    'assistant completed: use turn_1_call_1_1',
    'roboto completed: error turn_1_call_1_1',
    'assistant cancelled: error cancelled',
  ]);
  expect((await threads.header(thread_id)).pending).toEqual([]);
  await threads.send(thread_id, { message: 'never mind' });
  expect(told(await settled(threads, thread_id)).at(-1)).toBe('assistant completed: Fine.');
});

describe('tools that are declared', () => {
  const tool = (name: string, description = 'Does.') => ({ name, description, input_schema: { type: 'object' } });
  const many = (from: number, count: number) => Array.from({ length: count }, (_, n) => tool(`client_t${from + n}`));
  const declared = async (threadId: string, turn: number) => {
    // Of a run, what it is pinned to comes first.
    const [spec] = (await contextOf(world, `${threadId}/turn_${turn}`)) as unknown as [AgentSpec];
    return spec.tools.flatMap(({ kind, tool_id, description }) =>
      kind === 'client' ? [`${toolName(tool_id)}: ${description}`] : [],
    );
  };
  const begin = (turns: Parameters<typeof script>[0], tools: object[]) =>
    world.client.threads.start({ agent_id: 'test.agent', messages: [script(turns)], client_tools: tools as never });

  it('join those of before by their names, for that turn and the next ones', async () => {
    const { threads } = world.client;
    const texts = Array.from({ length: 4 }, (_, n) => ({ text: `${n}.` }));
    const { thread_id } = await begin(texts, [tool('client_a'), tool('client_b')]);
    await settled(threads, thread_id);
    const send = async (message: string, more: object = {}) => {
      await threads.send(thread_id, { message, ...more });
      await settled(threads, thread_id);
    };
    await send('two', { client_tools: [tool('client_c'), tool('client_a', 'Does it better.')] });
    await send('three', { client_tools: [] });
    await send('four');
    expect(await declared(thread_id, 1)).toEqual(['client_a: Does.', 'client_b: Does.']);
    for (const turn of [2, 3, 4])
      expect(await declared(thread_id, turn)).toEqual([
        'client_a: Does it better.',
        'client_b: Does.',
        'client_c: Does.',
      ]);
  });

  it('with results count from the next turn on', async () => {
    const { threads } = world.client;
    const { thread_id } = await begin([{ tool_calls: [look] }, { text: 'One.' }, { text: 'Two.' }], client_tools);
    await settled(threads, thread_id);
    await threads.submitToolResults(thread_id, {
      tool_results: [{ tool_use_id: 'turn_1_call_1_1', status: 'success' }],
      client_tools: [tool('client_b')],
    });
    await settled(threads, thread_id);
    await threads.send(thread_id, { message: 'two' });
    await settled(threads, thread_id);
    expect(await declared(thread_id, 1)).toEqual(['client_look: Looks.']);
    expect(await declared(thread_id, 2)).toEqual(['client_look: Looks.', 'client_b: Does.']);
  });

  it('are bounded, all of them together, also with messages that wait', async () => {
    const { threads } = world.client;
    const { thread_id } = await begin([{ text: ['Hm'], hang: true }, { text: 'So.' }], many(0, 100));
    const send = (tools: object[]) =>
      threads.send(thread_id, { message: 'more', on_busy: 'enqueue', client_tools: tools as never });
    await expect(send(many(90, 39))).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringMatching(/client_tools.*would be 129; at most 128/),
    });
    await send(many(90, 30));
    await expect(send(many(120, 9))).rejects.toMatchObject({ code: 'invalid_request' });
    const wordy = (name: string) => tool(name, 'x'.repeat(16_000));
    await expect(send(Array.from({ length: 15 }, (_, n) => wordy(`client_t${n}`)))).resolves.toMatchObject({});
    await expect(send(Array.from({ length: 5 }, (_, n) => wordy(`client_t${50 + n}`)))).rejects.toMatchObject({
      code: 'input_too_large',
    });
    await threads.delete(thread_id);
  });
});
