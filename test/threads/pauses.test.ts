/** Questions and approvals in a thread: what its clients see of them, and how they answer. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ChildAwaitChange, ChildAwaitNotice } from '../../contract/awaits.js';
import type { BaseMessage } from '../../contract/messages.js';
import { CHILD_AWAIT, READ_CONTEXT } from '../../contract/names.js';
import { readPages } from '../../contract/pages.js';
import type { Page, PageRequest } from '../../contract/pages.js';
import type { AskedPause } from '../../contract/thread-records.js';
import { threadStatus } from '../../contract/thread-summary.js';
import { script } from '../support/test-agents.js';
import { ask, child, treeConfig } from '../support/tree-agents.js';
import { createWorld, until } from '../support/world.js';
import type { World } from '../support/world.js';
import { client_tools, follow, settled, told } from './thread-world.js';

let world: World;
beforeAll(async () => {
  world = await createWorld(treeConfig());
});
afterAll(() => world.end());

type Turns = Parameters<typeof script>[0];
const approve = { tool: 'test.guarded.always', args: { text: 'x' } };

const start = (turns: Turns, more: object = {}) =>
  world.client.threads.start({ agent_id: 'test.node', messages: [script(turns)], ...more });

function asksOf({ messages }: Awaited<ReturnType<typeof start>>): AskedPause {
  const asks = messages.findLast((message) => message.asks !== undefined)?.asks;
  if (asks === undefined) throw new Error(`nothing is asked: ${JSON.stringify(messages)}`);
  return asks;
}

/** The conversation as models read it. */
async function contextOf(threadId: string): Promise<BaseMessage[]> {
  const read = (request: PageRequest) =>
    world.temporal.workflow.getHandle(threadId).query<Page, [PageRequest]>(READ_CONTEXT, request);
  const messages: BaseMessage[] = [];
  for await (const { text } of readPages(read, 0)) messages.push(JSON.parse(text) as BaseMessage);
  return messages;
}

it('a question is a text of the assistant and the user’s turn, and the next message is its answer', async () => {
  const { threads } = world.client;
  const begun = await start([
    { text: 'Let me see.', tool_calls: [ask('Which lake?', ['Zürich', 'Geneva'])] },
    { text: 'It is deep.' },
    { text: 'Two.' },
  ]);
  const { thread_id } = begun;
  const reader = follow(threads, begun);
  while (reader.held().status === 'roboto_turn') await reader.poll();
  expect(reader.held().status).toBe('user_turn');
  const question = 'assistant completed: Which lake?\n- Zürich\n- Geneva';
  expect(told(reader.held())).toEqual([
    'user completed: (script)',
    'assistant completed: Let me see. | use turn_1_call_1_1',
    question,
  ]);
  expect(threadStatus(await threads.header(thread_id))).toBe('waiting_for_answer');

  expect(await threads.send(thread_id, { message: 'Geneva' })).toEqual({
    thread_id,
    state: 'answered',
    run_id: `${thread_id}/turn_1`,
    await_id: 'clarification_call_1_1',
  });
  await reader.poll();
  expect(reader.held().status === 'roboto_turn' || told(reader.held()).length > 4).toBe(true);
  const record = await settled(threads, thread_id);
  while (reader.held().status !== 'user_turn') await reader.poll();
  expect(told(record)).toEqual([
    'user completed: (script)',
    'assistant completed: Let me see. | use turn_1_call_1_1',
    question,
    'user completed: Geneva',
    'roboto completed: success turn_1_call_1_1',
    'assistant completed: It is deep.',
  ]);
  expect(reader.held().messages).toEqual(record.messages);
  expect(reader.statuses.filter((status, n) => status !== reader.statuses[n - 1])).toEqual([
    'roboto_turn',
    'user_turn',
    'roboto_turn',
    'user_turn',
  ]);
  expect((await threads.header(thread_id)).turns).toBe(1);

  // Models read it as a call with its result, in the turns that follow as in this one.
  const context = await contextOf(thread_id);
  expect(context.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
  expect(context[2]).toMatchObject({ tool_call_id: 'turn_1_call_1_1', content: 'Geneva' });
  await threads.send(thread_id, { message: 'More' });
  expect(told(await settled(threads, thread_id)).at(-1)).toBe('assistant completed: Two.');
});

it('a question of an agent that is used as a tool is asked and answered in the same way', async () => {
  const { threads } = world.client;
  const low = child([{ tool_calls: [ask('How deep?')] }, { text: 'low' }]);
  const begun = await start([{ tool_calls: [child([{ tool_calls: [low] }, { text: 'middle' }])] }, { text: 'top' }]);
  const reader = follow(threads, begun);
  while (reader.held().status === 'roboto_turn') await reader.poll();
  expect(told(reader.held()).at(-1)).toBe('assistant completed: How deep?');
  const { thread_id } = begun;
  expect(asksOf(await threads.get(thread_id))).toMatchObject({
    kind: 'clarification',
    run_id: `${thread_id}/turn_1/call_1_1/call_1_1`,
    tool_use_id: 'turn_1_call_1_1_call_1_1_call_1_1',
  });
  await threads.send(thread_id, { message: 'Very' });
  const record = await settled(threads, thread_id);
  expect(told(record)).toEqual([
    'user completed: (script)',
    'assistant completed: use turn_1_call_1_1',
    'assistant completed: How deep?',
    'user completed: Very',
    'roboto completed: success turn_1_call_1_1',
    'assistant completed: top',
  ]);
  await reader.poll();
  expect(reader.held().messages).toEqual(record.messages);
});

it('two questions are answered one after another, the oldest first', async () => {
  const { threads } = world.client;
  const { thread_id } = await start([{ tool_calls: [ask('One?'), ask('Two?')] }, { text: 'Thanks.' }]);
  await settled(threads, thread_id);
  await threads.send(thread_id, { message: 'first' });
  expect((await threads.get(thread_id)).status).toBe('user_turn');
  await threads.send(thread_id, { message: 'second' });
  await until(async () => (await threads.header(thread_id)).turn === undefined, 'the turn to end');
  const { messages } = await threads.get(thread_id);
  const answers = messages.flatMap(({ answers, content }) => (answers === undefined ? [] : [[answers, content[0]]]));
  expect(answers).toEqual([
    ['turn_1_call_1_1', { content_type: 'text', text: 'first' }],
    ['turn_1_call_1_2', { content_type: 'text', text: 'second' }],
  ]);
});

it('a message that was queued before the question is no answer, and comes after the turn', async () => {
  const { threads } = world.client;
  const { thread_id } = await start([
    { text: ['One', ' moment.'], delay_ms: 1_500, tool_calls: [ask('Which?')] },
    { text: 'This.' },
    { text: 'Next.' },
  ]);
  expect(await threads.send(thread_id, { message: 'later', on_busy: 'enqueue' })).toMatchObject({ state: 'queued' });
  await settled(threads, thread_id);
  expect((await threads.header(thread_id)).queued).toBe(1);
  expect(await threads.send(thread_id, { message: 'that', on_busy: 'enqueue' })).toMatchObject({ state: 'answered' });
  await until(async () => (await threads.header(thread_id)).turns === 2, 'the queued message');
  const said = told(await settled(threads, thread_id)).filter((line) => line.startsWith('user'));
  expect(said).toEqual(['user completed: (script)', 'user completed: that', 'user completed: later']);
});

it('a message that interrupts ends the question, and is a message of its own', async () => {
  const { threads } = world.client;
  const { thread_id } = await start([{ tool_calls: [ask('Which?')] }, { text: 'Other.' }]);
  await settled(threads, thread_id);
  expect(await threads.send(thread_id, { message: 'stop that', on_busy: 'interrupt' })).toMatchObject({
    state: 'queued',
  });
  expect((await threads.get(thread_id)).status).toBe('roboto_turn');
  await until(async () => (await threads.header(thread_id)).turns === 2, 'the next turn');
  expect(told(await settled(threads, thread_id))).toEqual([
    'user completed: (script)',
    'assistant completed: use turn_1_call_1_1',
    'assistant completed: Which?',
    'roboto completed: error turn_1_call_1_1',
    'assistant cancelled: error cancelled',
    'user completed: stop that',
    'assistant completed: Other.',
  ]);
});

it('a cancel of a turn that asks leaves nothing to answer', async () => {
  const { threads } = world.client;
  const { thread_id } = await start([{ tool_calls: [ask('Which?')] }, { text: 'Other.' }]);
  await settled(threads, thread_id);
  await threads.cancel(thread_id);
  await until(async () => (await threads.header(thread_id)).turn === undefined, 'the turn to end');
  expect(await threads.send(thread_id, { message: 'new' })).toMatchObject({ state: 'started' });
  expect(told(await settled(threads, thread_id)).at(-1)).toBe('assistant completed: Other.');
});

it('a question that expires is the agent’s turn again', async () => {
  const { threads } = world.client;
  const asker = child([{ tool_calls: [ask('Quick?')] }, { text: 'Never mind.' }], 'asker');
  const { thread_id } = await start([{ tool_calls: [asker] }, { text: 'On we go.' }]);
  await until(async () => (await threads.header(thread_id)).status === 'user_turn', 'the question');
  await until(async () => (await threads.header(thread_id)).turn === undefined, 'the turn to end by itself');
  const record = await threads.get(thread_id);
  expect(record.status).toBe('user_turn');
  expect(told(record).at(-1)).toBe('assistant completed: On we go.');
});

it('an answer that the run does not take is the next message', async () => {
  const { threads } = world.client;
  const { thread_id } = await start([{ text: ['One', ' moment.'], delay_ms: 1_500 }, { text: 'And that.' }]);
  await until(async () => (await threads.header(thread_id)).turn !== undefined, 'the turn');
  const run_id = `${thread_id}/turn_1`;
  // As if the run had asked, and the question had expired while the answer was on its way.
  const change: ChildAwaitChange = {
    link: { run_id, agent_id: 'test.node', stream_key: '' },
    await_id: 'clarification_call_1_1',
    kind: 'clarification',
    state: 'open',
    asks: { text: 'Which?', tool_call_id: 'call_1_1' },
  };
  const notice: ChildAwaitNotice = { via: run_id, paused: true, changes: [change] };
  await world.temporal.workflow.getHandle(thread_id).signal(CHILD_AWAIT, notice);
  await until(async () => (await threads.header(thread_id)).status === 'user_turn', 'the question');
  expect(await threads.send(thread_id, { message: 'this one' })).toMatchObject({ state: 'answered' });
  await until(async () => (await threads.header(thread_id)).turns === 2, 'the next turn');
  expect(told(await settled(threads, thread_id))).toEqual([
    'user completed: (script)',
    'assistant completed: One moment.',
    'user completed: this one',
    'assistant completed: And that.',
  ]);
});

it('the same POST, sent again before its answer was read, is the same answer', async () => {
  const { threads } = world.client;
  const { thread_id } = await start([{ tool_calls: [ask('Which?')] }, { text: 'Thanks.' }]);
  await settled(threads, thread_id);
  const mark = { by: 'somebody', digest: 'that message', at: Date.now() };
  const first = await threads.send(thread_id, { message: 'this' }, { mark });
  expect(first).toMatchObject({ state: 'answered' });
  expect(await threads.send(thread_id, { message: 'this' }, { mark })).toEqual(first);
  await until(async () => (await threads.header(thread_id)).turn === undefined, 'the turn to end');
  expect(told(await threads.get(thread_id)).filter((line) => line === 'user completed: this')).toHaveLength(1);
});

it('an answer is refused with goals, when it is too large, and from whoever may not give it', async () => {
  const { threads } = world.client;
  const { thread_id } = await start([{ tool_calls: [ask('Which?')] }, { text: 'Thanks.' }], {
    org_id: 'acme',
    created_by: 'ann',
  });
  await settled(threads, thread_id);
  const goals = [{ goal_type: 'summary', goal_data: {} }];
  await expect(threads.send(thread_id, { message: 'x', goals })).rejects.toMatchObject({ code: 'invalid_request' });
  await expect(threads.send(thread_id, { message: 'x'.repeat(300_000) })).rejects.toMatchObject({
    code: 'input_too_large',
  });
  const by = { by: { org_id: 'acme', user_id: 'bob', roles: ['member'] }, answered_by: 'bob' };
  await expect(threads.send(thread_id, { message: 'x' }, { by })).rejects.toMatchObject({ code: 'forbidden' });
  expect((await threads.get(thread_id)).status).toBe('user_turn');
  const ann = { by: { org_id: 'acme', user_id: 'ann', roles: ['member'] }, answered_by: 'ann' };
  await threads.send(thread_id, { message: 'x' }, { by: ann });
  expect(told(await settled(threads, thread_id)).at(-1)).toBe('assistant completed: Thanks.');
});

it('an approval is in the record as a call and a text, and is decided with its digest', async () => {
  const { threads } = world.client;
  const begun = await start([{ text: 'I will.', tool_calls: [approve] }, { text: 'Done.' }]);
  const { thread_id } = begun;
  const reader = follow(threads, begun);
  while (reader.held().status === 'roboto_turn') await reader.poll();
  expect(reader.held().status).toBe('user_turn');
  expect(told(reader.held()).slice(1)).toEqual([
    'assistant completed: I will. | use turn_1_call_1_1',
    'assistant completed: May this call be made?\n{"text":"x"}\ntest.guarded.always',
  ]);
  // Words approve nothing.
  await expect(threads.send(thread_id, { message: 'yes' })).rejects.toMatchObject({
    code: 'thread_busy',
    message: expect.stringContaining('turn_1_call_1_1'),
  });
  const { tool_use_id, digest = '' } = asksOf(await threads.get(thread_id));
  const decide = (more: object) =>
    threads.decideApproval(thread_id, { tool_use_id, decision: 'approve', digest, ...more });
  for (const wrong of [{ digest: 'other' }, { tool_use_id: 'turn_1_call_9_9' }, { decision: 'maybe' }, { note: 1 }])
    await expect(decide(wrong)).rejects.toMatchObject({ code: 'invalid_request' });
  await decide({});
  await reader.poll();
  expect(reader.held().status === 'roboto_turn' || told(reader.held()).length > 3).toBe(true);
  await expect(decide({})).rejects.toMatchObject({ code: 'invalid_request' });
  const record = await settled(threads, thread_id);
  while (reader.held().status !== 'user_turn') await reader.poll();
  expect(told(record).slice(3)).toEqual(['roboto completed: success turn_1_call_1_1', 'assistant completed: Done.']);
  expect(reader.held().messages).toEqual(record.messages);
});

it('an approval of a child is decided in the thread, and a denial with its note reaches the model', async () => {
  const { threads } = world.client;
  const inner = child([{ tool_calls: [approve] }, { text: 'inner' }]);
  const { thread_id } = await start([{ tool_calls: [inner] }, { text: 'outer' }]);
  const { tool_use_id, digest = '', run_id } = asksOf(await settled(threads, thread_id));
  expect(tool_use_id).toBe('turn_1_call_1_1_call_1_1');
  await threads.decideApproval(thread_id, { tool_use_id, digest, decision: 'deny', note: 'not today' });
  await until(async () => (await threads.header(thread_id)).turn === undefined, 'the turn to end');
  const log = await world.logOf(run_id);
  expect(log.find((event) => event.type === 'await_resolved')).toMatchObject({ resolution: 'denied' });
  expect(JSON.stringify(log)).toContain('not today');
});

it('results of client tools come first, then the question', async () => {
  const { threads } = world.client;
  const look = { tool: 'client.declared.client_look', args: {} };
  const { thread_id } = await start([{ tool_calls: [ask('Which?'), look] }, { text: 'Both.' }], { client_tools });
  await until(async () => (await threads.header(thread_id)).status === 'client_tool_turn', 'the client’s turn');
  await threads.submitToolResults(thread_id, { tool_results: [{ tool_use_id: 'turn_1_call_1_2', status: 'success' }] });
  expect((await threads.get(thread_id)).status).toBe('user_turn');
  await threads.send(thread_id, { message: 'that' });
  await until(async () => (await threads.header(thread_id)).turn === undefined, 'the turn to end');
  expect(told(await threads.get(thread_id)).at(-1)).toBe('assistant completed: Both.');
});

it('a deleted thread takes no answer', async () => {
  const { threads } = world.client;
  const { thread_id } = await start([{ tool_calls: [ask('Which?')] }, { text: 'Thanks.' }]);
  await settled(threads, thread_id);
  await threads.delete(thread_id);
  await expect(threads.send(thread_id, { message: 'this' })).rejects.toMatchObject({ code: 'unknown_thread' });
});

it('a fork at a question, and one after it, read as conversations that go on', async () => {
  const { threads } = world.client;
  const { thread_id } = await start([{ tool_calls: [ask('Which?')] }, { text: 'Thanks.' }, { text: 'Else.' }]);
  await settled(threads, thread_id);
  await threads.send(thread_id, { message: 'this' });
  await until(async () => (await threads.header(thread_id)).turn === undefined, 'the turn to end');
  for (const at of [2, 3]) {
    const { thread_id: fork } = await threads.fork(thread_id, { message_sequence_num: at });
    await threads.send(fork, { message: 'go on' });
    expect(told(await settled(threads, fork)).at(-1)).toMatch(/^assistant completed/);
  }
});
