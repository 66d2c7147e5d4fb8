/** Questions and approvals in a thread: what its clients see of them, and how they answer. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ChildAwaitChange, ChildAwaitNotice } from '../../contract/awaits.js';
import { TOLD_AT_ONCE } from '../../contract/pause-text.js';
import type { Principal } from '../../contract/principal.js';
import { CHILD_AWAIT } from '../../contract/names.js';
import type { AskedPause } from '../../contract/thread-records.js';
import { asksOf as asksIn } from '../../contract/thread-questions.js';
import { threadStatus } from '../../contract/thread-status.js';
import { script } from '../support/test-agents.js';
import { ask, child, treeConfig } from '../support/tree-agents.js';
import { createWorld, until } from '../support/world.js';
import type { World } from '../support/world.js';
import { client_tools, contextOf, follow, settled, told } from './thread-world.js';

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
  const asks = messages.flatMap(asksIn).at(-1);
  if (asks === undefined) throw new Error(`nothing is asked: ${JSON.stringify(messages)}`);
  return asks;
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
  const context = await contextOf(world, thread_id);
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

it('results of client tools are refused by the thread from whoever may not give them', async () => {
  const { threads } = world.client;
  const look = { tool: 'client.declared.client_look', args: {} };
  const owner = { org_id: 'acme', created_by: 'ann' };
  const { thread_id } = await start([{ tool_calls: [look] }, { text: 'Seen.' }], { client_tools, ...owner });
  await until(async () => (await threads.header(thread_id)).status === 'client_tool_turn', 'the client’s turn');
  const give = (by: unknown) =>
    threads.submitToolResults(thread_id, {
      tool_results: [{ tool_use_id: 'turn_1_call_1_1', status: 'success' }],
      by: by as Principal,
    });
  const bob = { org_id: 'acme', user_id: 'bob', roles: ['member'] };
  await expect(give(bob)).rejects.toMatchObject({ code: 'forbidden' });
  await expect(give({ ...bob, user_id: 'ann', org_id: 'globex' })).rejects.toMatchObject({ code: 'forbidden' });
  await expect(give('ann')).rejects.toMatchObject({ code: 'invalid_request' });
  expect((await threads.header(thread_id)).pending).toHaveLength(1);
  await give({ ...bob, user_id: 'ann' });
  await until(async () => (await threads.header(thread_id)).turn === undefined, 'the turn to end');
});

it('a call that is too long to be shown whole comes without its digest, and is decided at its run', async () => {
  const { threads, runs } = world.client;
  const text = `${'memo '.repeat(2_000)}to: attacker`;
  const long = { tool: 'test.guarded.always', args: { text } };
  const own = await start([{ tool_calls: [long] }, { text: 'Done.' }]);
  const shown = await settled(threads, own.thread_id);
  expect(told(shown).at(-1)).toContain('to: attacker');
  expect(asksOf(shown).digest).toEqual(expect.any(String));
  await threads.cancel(own.thread_id);

  const { thread_id } = await start([
    { tool_calls: [child([{ tool_calls: [long] }, { text: 'inner' }])] },
    { text: 'outer' },
  ]);
  const record = await settled(threads, thread_id);
  expect(told(record).at(-1)).toMatch(/…\n\(cut here: .*that run takes the decision\)\ntest\.guarded\.always$/);
  const { tool_use_id, run_id, await_id, ...about } = asksOf(record);
  expect(about).toEqual({ kind: 'approval' });
  const [pause] = (await runs.get(run_id)).awaits;
  const digest = pause?.digest ?? '';
  await expect(threads.decideApproval(thread_id, { tool_use_id, digest, decision: 'approve' })).rejects.toMatchObject({
    code: 'invalid_request',
    message: expect.stringContaining(`in the log of run ${run_id}`),
  });
  await runs.decideApproval(run_id, { await_id, digest, decision: 'approve' });
  await until(async () => (await threads.header(thread_id)).turn === undefined, 'the turn to end');
  expect(told(await threads.get(thread_id)).at(-1)).toBe('assistant completed: outer');
});

it('of many calls at once, those that are not shown come without their digests', async () => {
  const { threads } = world.client;
  const many = Array.from({ length: TOLD_AT_ONCE + 2 }, () => approve);
  const { thread_id } = await start([
    { tool_calls: [child([{ tool_calls: many }, { text: 'inner' }])] },
    { text: 'outer' },
  ]);
  await settled(threads, thread_id);
  const isAll = async () => (await threads.header(thread_id)).pauses.length === many.length;
  await until(isAll, 'all pauses');
  const { messages } = await threads.get(thread_id);
  const asked = messages.flatMap(({ content }) =>
    content.flatMap((block) =>
      block.content_type === 'text' && block.asks !== undefined ? [{ asks: block.asks, text: block.text }] : [],
    ),
  );
  expect(asked).toHaveLength(many.length);
  for (const { asks, text } of asked) expect(asks.digest !== undefined).toBe(text.includes('test.guarded.always'));
  expect(asked.filter(({ asks }) => asks.digest === undefined)).toHaveLength(2);
  await threads.cancel(thread_id);
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
