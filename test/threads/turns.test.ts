/** Turns of a thread on the real server: messages, tools, errors, cancel, and what happens while it is busy. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AgentMessage } from '../../contract/thread-records.js';
import type { AgentContent } from '../../contract/thread-records.js';
import { call, script } from '../support/test-agents.js';
import { createWorld, until } from '../support/world.js';
import type { World } from '../support/world.js';
import { contextOf, settled, threadConfig, told } from './thread-world.js';

let world: World;
beforeAll(async () => {
  world = await createWorld(threadConfig());
});
afterAll(() => world.end());

const agent_id = 'test.agent';
const start = (turns: Parameters<typeof script>[0], more: object = {}) =>
  world.client.threads.start({ agent_id, messages: [script(turns)], ...more });

describe('a turn', () => {
  it('answers the first message, and a second one with the conversation before it', async () => {
    const { threads } = world.client;
    const begun = await start([{ text: 'Hello.' }, { text: 'Again.', expect: { last_user: 'and now?' } }]);
    expect(begun).toMatchObject({ visibility: 'private', goals: [], org_id: '', forked_from_thread_id: null });
    expect(['roboto_turn', 'user_turn']).toContain(begun.status);
    const { thread_id } = begun;
    expect(told(await settled(threads, thread_id))).toEqual([
      'user completed: (script)',
      'assistant completed: Hello.',
    ]);
    const sent = await threads.send(thread_id, { message: 'and now?' });
    expect(sent).toEqual({ thread_id, state: 'started', message_sequence_num: 2, run_id: `${thread_id}/turn_2` });
    const record = await settled(threads, thread_id);
    expect(told(record).slice(2)).toEqual(['user completed: and now?', 'assistant completed: Again.']);
    const { messages } = record;
    expect(messages.map(({ created }) => created).toSorted()).toEqual(messages.map(({ created }) => created));
    const log = await world.logOf(`${thread_id}/turn_2`);
    expect(log[0]).toMatchObject({ root_run_id: `${thread_id}/turn_2`, thread_id });
    expect(log[0]).not.toHaveProperty('parent_run_id');
  });

  it('shows tool uses and their results, and the next turn reads them', async () => {
    const { threads } = world.client;
    const echo = call('tools.echo', { text: 'x' });
    const { thread_id } = await start([
      { text: 'Looking.', tool_calls: [echo, call('tools.act', { do: 'refuse' })] },
      { text: 'Found.' },
      { tool_calls: [echo] },
      { text: 'Twice.' },
    ]);
    const record = await settled(threads, thread_id);
    expect(told(record).slice(1)).toEqual([
      'assistant completed: Looking. | use turn_1_call_1_1 | use turn_1_call_1_2',
      expect.stringMatching(/^roboto completed: (success|error) turn_1_call_1_\d \| (success|error) turn_1_call_1_\d$/),
      'assistant completed: Found.',
    ]);
    const results = record.messages[2]?.content ?? [];
    expect(results).toContainEqual({
      content_type: 'tool_result',
      tool_name: 'echo',
      tool_use_id: 'turn_1_call_1_1',
      runtime_ms: expect.any(Number),
      status: 'success',
      raw_response: { result: 'x' },
      told: { name: 'test.tools.echo' },
    });
    expect(record.messages[1]?.content[1]).toEqual({
      content_type: 'tool_use',
      tool_name: 'echo',
      tool_use_id: 'turn_1_call_1_1',
      input: { text: 'x' },
      raw_request: { name: 'test.tools.echo', arguments: '{"text":"x"}' },
    });
    await threads.send(thread_id, { message: 'once more' });
    expect(told(await settled(threads, thread_id)).slice(5)).toEqual([
      'assistant completed: use turn_2_call_1_1',
      'roboto completed: success turn_2_call_1_1',
      'assistant completed: Twice.',
    ]);
  });

  it('that fails leaves an error, and the thread goes on', async () => {
    const { threads } = world.client;
    const { thread_id } = await start([
      { fail: { code: 'model_unauthorized' }, attempts: [{ fail: { code: 'model_unauthorized' } }] },
    ]);
    const record = await settled(threads, thread_id);
    expect(record.status).toBe('user_turn');
    expect(told(record)[1]).toBe('assistant failed: error model_unauthorized');
  });

  it('whose run is terminated from outside leaves an error, and the thread goes on', async () => {
    const { threads } = world.client;
    const { thread_id } = await start([
      { text: 'One moment.', tool_calls: [call('tools.act', { do: 'hang' })] },
      { text: 'Here I am.' },
    ]);
    const run = `${thread_id}/turn_1`;
    for await (const event of world.client.runs.stream(run)) if (event.type === 'tool_scheduled') break;
    await world.temporal.workflow.getHandle(run).terminate('for the test');
    const record = await settled(threads, thread_id);
    expect(record.status).toBe('user_turn');
    expect(told(record).slice(1)).toEqual([
      'assistant completed: One moment. | use turn_1_call_1_1',
      'assistant failed: error internal',
    ]);
    await threads.send(thread_id, { message: 'are you there?' });
    expect(told(await settled(threads, thread_id)).at(-1)).toBe('assistant completed: Here I am.');
  });

  it('that is canceled keeps what was said, and says so', async () => {
    const { threads } = world.client;
    const { thread_id } = await start([{ text: ['well', ' then'], hang: true }, { text: 'Go on.' }]);
    for await (const event of world.client.runs.stream(`${thread_id}/turn_1`)) if (event.type === 'text_chunk') break;
    expect(await threads.cancel(thread_id)).toEqual({ thread_id, run_id: `${thread_id}/turn_1` });
    const record = await settled(threads, thread_id);
    expect(record.status).toBe('user_turn');
    expect(told(record)[1]).toMatch(/^assistant cancelled: well( then)? \| error cancelled$/);
    expect(await threads.cancel(thread_id)).toEqual({ thread_id });
    await threads.send(thread_id, { message: 'go on' });
    expect(told(await settled(threads, thread_id)).at(-1)).toBe('assistant completed: Go on.');
  });
});

describe('a message to a thread that is busy', () => {
  const busy = async () => {
    const { thread_id } = await start([{ text: ['first'], hang: true }, { text: 'second' }, { text: 'third' }]);
    for await (const event of world.client.runs.stream(`${thread_id}/turn_1`)) if (event.type === 'text_chunk') break;
    return thread_id;
  };

  it('is refused with the reason, unless it says otherwise', async () => {
    const { threads } = world.client;
    const thread_id = await busy();
    await expect(threads.send(thread_id, { message: 'hello?' })).rejects.toMatchObject({ code: 'thread_busy' });
    expect((await threads.get(thread_id)).messages).toHaveLength(2);
    await threads.delete(thread_id);
  });

  it('waits for its turn with enqueue, and goes first with interrupt', async () => {
    const { threads } = world.client;
    const thread_id = await busy();
    const later = await threads.send(thread_id, { message: 'later', on_busy: 'enqueue' });
    expect(later).toEqual({ thread_id, state: 'queued', ahead: 0 });
    const now = await threads.send(thread_id, { message: 'now', on_busy: 'interrupt' });
    expect(now).toEqual({ thread_id, state: 'queued', ahead: 0 });
    await until(async () => (await threads.header(thread_id)).queued === 0, 'the queue to be empty');
    expect(told(await settled(threads, thread_id)).slice(1)).toEqual([
      'assistant cancelled: first | error cancelled',
      'user completed: now',
      'assistant completed: second',
      'user completed: later',
      'assistant completed: third',
    ]);
  });
});

describe('a thread', () => {
  it('is refused at its start when its agent is unknown, and read as unknown when it is not there', async () => {
    const { threads } = world.client;
    await expect(threads.start({ agent_id: 'no.body', messages: ['hi'] })).rejects.toMatchObject({
      code: 'unknown_agent',
    });
    await expect(threads.start({ agent_id, messages: [''] })).rejects.toMatchObject({ code: 'invalid_request' });
    await expect(threads.get('thr_nowhere')).rejects.toMatchObject({ code: 'unknown_thread' });
    await expect(threads.send('thr_nowhere', { message: 'hi' })).rejects.toMatchObject({ code: 'unknown_thread' });
  });

  it('can be started by the stock CLI: one JSON object is enough', async () => {
    const { threads } = world.client;
    const thread_id = `thr_cli_${Date.now()}`;
    await world.temporal.workflow.start('agentThread', {
      workflowId: thread_id,
      taskQueue: world.server.taskQueue,
      args: [{ agent_id, messages: [script([{ text: 'Hi.' }])] }],
    });
    await until(async () => (await threads.header(thread_id)).ready, 'the thread to be open');
    expect(told(await settled(threads, thread_id))).toEqual(['user completed: (script)', 'assistant completed: Hi.']);
  });

  it('takes the same command once, however often it is sent', async () => {
    const { threads } = world.client;
    const { thread_id } = await start([{ text: 'One.' }, { text: 'Two.' }]);
    await settled(threads, thread_id);
    const first = await threads.send(thread_id, { message: 'next' }, { request_key: 'k1' });
    expect(await threads.send(thread_id, { message: 'next' }, { request_key: 'k1' })).toEqual(first);
    expect((await settled(threads, thread_id)).messages).toHaveLength(4);
  });

  it('has its first message as title until it is renamed', async () => {
    const { threads } = world.client;
    const { thread_id, title } = await start([{ text: 'One.' }]);
    expect(title).toMatch(/^\{"turns"/);
    await threads.rename(thread_id, 'Ones');
    expect((await threads.get(thread_id)).title).toBe('Ones');
    await expect(threads.rename(thread_id, ' ')).rejects.toMatchObject({ code: 'invalid_request' });
  });

  it('that was terminated in the middle of a turn is not read as one that is about to answer', async () => {
    const { threads } = world.client;
    const { thread_id } = await start([{ text: ['well'], hang: true }]);
    for await (const event of world.client.runs.stream(`${thread_id}/turn_1`)) if (event.type === 'text_chunk') break;
    await world.temporal.workflow.getHandle(thread_id).terminate('for the test');
    expect((await world.logOf(`${thread_id}/turn_1`)).at(-1)).toMatchObject({ status: 'canceled' });
    const isGone = () =>
      threads.get(thread_id).then(
        () => false,
        (error: { code?: string }) => error.code === 'unknown_thread',
      );
    await until(isGone, 'the thread to be read as gone');
  });

  it('that is deleted ends its turn, is gone, and takes nothing more', async () => {
    const { threads } = world.client;
    const { thread_id } = await start([{ text: ['well'], hang: true }]);
    const run = `${thread_id}/turn_1`;
    for await (const event of world.client.runs.stream(run)) if (event.type === 'text_chunk') break;
    await threads.delete(thread_id);
    await expect(threads.get(thread_id)).rejects.toMatchObject({ code: 'unknown_thread' });
    await expect(threads.send(thread_id, { message: 'late' })).rejects.toMatchObject({ code: 'unknown_thread' });
    expect((await world.logOf(run)).at(-1)).toMatchObject({ cancellation: { reason: 'thread_deleted' } });
    await expect(world.temporal.workflow.getHandle(thread_id).result()).resolves.toMatchObject({ status: 'deleted' });
    await expect(threads.send(thread_id, { message: 'late' })).rejects.toMatchObject({ code: 'unknown_thread' });
    await expect(threads.start({ agent_id, thread_id, messages: ['x'] })).rejects.toMatchObject({
      code: 'thread_exists',
    });
  });
});

it('messages that wait are in the record that asks for them, as not started, and only there', async () => {
  const { threads } = world.client;
  const { thread_id } = await threads.start({
    agent_id: 'test.agent',
    messages: [script([{ text: ['One', ' moment.'], delay_ms: 1_500 }, { text: 'Two.' }, { text: 'Three.' }])],
  });
  await threads.send(thread_id, { message: 'second', on_busy: 'enqueue' });
  await threads.send(thread_id, { message: 'third', on_busy: 'enqueue' });
  const waiting = await threads.get(thread_id, { queued: true });
  expect(told(waiting).slice(-2)).toEqual(['user not_started: second', 'user not_started: third']);
  for (const message of waiting.messages) expect(AgentMessage.parse(message)).toEqual(message);
  expect(told(await threads.get(thread_id)).join()).not.toContain('not_started');
  await until(async () => (await threads.header(thread_id)).turns === 3, 'the last turn');
  const record = await settled(threads, thread_id);
  expect(await threads.get(thread_id, { queued: true })).toEqual(record);
  expect(told(record).filter((line) => line.startsWith('user'))).toEqual([
    'user completed: (script)',
    'user completed: second',
    'user completed: third',
  ]);
});

it('the record names the model profile that answers, also where nobody asked for one', async () => {
  const { threads } = world.client;
  const { thread_id } = await threads.start({ agent_id: 'test.agent', messages: [script([{ text: 'Hello.' }])] });
  expect((await settled(threads, thread_id)).model_profile).toBe('script');
});

it('a message of several texts is kept as it came, and read as one with a blank line between them', async () => {
  const { threads } = world.client;
  const texts = (...all: string[]) => ({ role: 'user' as const, content: all.map((text) => ({ text })) });
  const { thread_id } = await threads.start({
    agent_id: 'test.agent',
    messages: [script([{ text: 'One.' }, { text: 'Two.' }]), texts('First.', 'Second.')],
  });
  await settled(threads, thread_id);
  await threads.send(thread_id, { message: texts('Third.', 'Fourth.') });
  const { messages } = await settled(threads, thread_id);
  const blocks = messages.flatMap(({ role, content }) => (role === 'user' ? [content.map(textOf)] : []));
  expect(blocks.slice(1)).toEqual([
    ['First.', 'Second.'],
    ['Third.', 'Fourth.'],
  ]);
  const said = (await contextOf(world, thread_id)).flatMap(({ role, content }) => (role === 'user' ? [content] : []));
  expect(said.slice(1)).toEqual(['First.\n\nSecond.', 'Third.\n\nFourth.']);
  const log = await world.logOf(`${thread_id}/turn_2`);
  expect(log[0]).toMatchObject({ type: 'run_started', input: 'Third.\n\nFourth.' });
});

function textOf(block: AgentContent): string {
  return block.content_type === 'text' ? block.text : '';
}
