/**
 * Questions and approvals of a turn whose client owes results of its own tools: who has the turn, and what is shown when.
 * That the published client finds its way is in test/roboto/; what the messages are is in test/contract/.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { asksOf } from '../../contract/thread-questions.js';
import type { AgentThreadRecord, AgentThreadStatus, AskedPause } from '../../contract/thread-records.js';
import { threadStatus } from '../../contract/thread-status.js';
import { script } from '../support/test-agents.js';
import { ask, child, treeConfig } from '../support/tree-agents.js';
import { createWorld, until } from '../support/world.js';
import type { World } from '../support/world.js';
import { client_tools, follow, told } from './thread-world.js';

let world: World;
beforeAll(async () => {
  const policy = { allow: 'all' as const, approve: ['client.declared.client_sign'] };
  world = await createWorld(treeConfig({}, { root: { policy } }));
});
afterAll(() => world.end());

const look = { tool: 'client.declared.client_look', args: {} };
const sign = { tool: 'client.declared.client_sign', args: {} };
const both = [...client_tools, { name: 'client_sign', description: 'Signs.', input_schema: { type: 'object' } }];

async function begin(...tool_calls: object[]) {
  const turns = [{ tool_calls }, { text: 'Done.' }] as Parameters<typeof script>[0];
  const record = await world.client.threads.start({
    agent_id: 'test.node',
    messages: [script(turns)],
    client_tools: both,
  });
  return { reader: follow(world.client.threads, record), thread_id: record.thread_id };
}

type Reader = ReturnType<typeof follow>;

/** Polls until the status is another one than these, as a client does. */
async function after(reader: Reader, ...statuses: AgentThreadStatus[]): Promise<void> {
  while (statuses.includes(reader.held().status)) await reader.poll();
}

const lastAsks = ({ messages }: Pick<AgentThreadRecord, 'messages'>): AskedPause => messages.flatMap(asksOf).at(-1)!;
const give = (threadId: string, n: number, output: unknown = 'seen') =>
  world.client.threads.submitToolResults(threadId, {
    tool_results: [{ tool_use_id: `turn_1_call_1_${n}`, status: 'success', output }],
  });

it.each([
  ['a question', ask('Which?'), 'assistant completed: Which?'],
  ['a question of a child', child([{ tool_calls: [ask('Which?')] }, { text: 'so' }]), 'assistant completed: Which?'],
  [
    'an approval of a child',
    child([{ tool_calls: [{ tool: 'test.guarded.always', args: { text: 'x' } }] }, { text: 'so' }]),
    'assistant completed: May this call be made?\n{"text":"x"}\ntest.guarded.always',
  ],
])('%s is shown, and answered, when the client’s tools have their results', async (_what, asking, shown) => {
  const { threads } = world.client;
  const { reader, thread_id } = await begin(asking, look);
  await after(reader, 'roboto_turn');
  expect(reader.held().status).toBe('client_tool_turn');
  await until(async () => (await threads.header(thread_id)).pauses[0]?.held === true, 'the pause');
  await reader.poll();
  expect(told(reader.held()).slice(1)).toEqual(['assistant completed: use turn_1_call_1_1 | use turn_1_call_1_2']);
  // Nobody has seen a question, so no word is an answer.
  await expect(threads.send(thread_id, { message: 'hm' })).rejects.toMatchObject({
    code: 'thread_busy',
    message: expect.stringContaining('waiting for tools'),
  });
  const held = (await threads.header(thread_id)).pauses[0]?.asked;
  const early = { tool_use_id: held?.tool_use_id ?? '', digest: held?.digest ?? 'none', decision: 'approve' as const };
  await expect(threads.decideApproval(thread_id, early)).rejects.toThrow(
    /does not wait for approval: .* Nothing waits/,
  );

  await give(thread_id, 2);
  await reader.poll();
  // Or a client would run them again.
  expect(reader.held().status).not.toBe('client_tool_turn');
  await after(reader, 'roboto_turn');
  expect(reader.held().status).toBe('user_turn');
  expect(told(reader.held()).slice(2)).toEqual(['roboto completed: success turn_1_call_1_2', shown]);
  expect(threadStatus(await threads.header(thread_id))).toBe('waiting_for_answer');
  const { kind, tool_use_id, digest = '' } = lastAsks(reader.held());
  if (kind === 'approval') await threads.decideApproval(thread_id, { tool_use_id, digest, decision: 'approve' });
  else expect(await threads.send(thread_id, { message: 'this' })).toMatchObject({ state: 'answered' });
  await until(async () => (await threads.header(thread_id)).turn === undefined, 'the turn to end');
  await reader.poll();
  expect(told(reader.held()).at(-1)).toBe('assistant completed: Done.');
  expect(reader.held().messages).toEqual((await threads.get(thread_id)).messages);
});

it('it is nobody’s turn before what is asked can be read: a large result is kept first', async () => {
  const { reader, thread_id } = await begin(ask('Which?'), look);
  await after(reader, 'roboto_turn');
  await give(thread_id, 2, 'x'.repeat(100_000));
  await after(reader, 'client_tool_turn', 'roboto_turn');
  expect(told(reader.held()).at(-1)).toBe('assistant completed: Which?');
  await world.client.threads.cancel(thread_id);
});

it('while one of its tools waits for leave, the client runs none: a published one would run them all', async () => {
  const { threads } = world.client;
  const { reader, thread_id } = await begin(look, sign, ask('Which?'));
  await after(reader, 'roboto_turn');
  expect(reader.held().status).toBe('user_turn');
  expect(told(reader.held()).slice(1)).toEqual([
    'assistant completed: use turn_1_call_1_1 | use turn_1_call_1_2 | use turn_1_call_1_3 | May this call be made?\n{}\nclient.declared.client_sign',
  ]);
  const { pending, pauses } = await threads.header(thread_id);
  expect(pending.map(({ tool_use_id }) => tool_use_id)).toEqual(['turn_1_call_1_1']);
  expect(pauses.map(({ kind, held }) => [kind, held])).toEqual([
    ['approval', undefined],
    ['clarification', true],
  ]);
  await expect(threads.send(thread_id, { message: 'yes' })).rejects.toThrow(/decision about turn_1_call_1_2/);

  const { tool_use_id, digest = '' } = lastAsks(reader.held());
  await threads.decideApproval(thread_id, { tool_use_id, digest, decision: 'deny' });
  await after(reader, 'user_turn', 'roboto_turn');
  expect(reader.held().status).toBe('client_tool_turn');
  // That it was denied is there with the turn: what has no result is what is to be run.
  expect(told(reader.held()).at(-1)).toBe('roboto generating: declined turn_1_call_1_2');
  await give(thread_id, 1);
  await after(reader, 'client_tool_turn', 'roboto_turn');
  expect(told(reader.held()).slice(2)).toEqual([
    'roboto completed: declined turn_1_call_1_2 | success turn_1_call_1_1',
    'assistant completed: Which?',
  ]);
  await threads.cancel(thread_id);
});

it('a tool that was approved is run with the others', async () => {
  const { threads } = world.client;
  const { reader, thread_id } = await begin(look, sign);
  await after(reader, 'roboto_turn');
  const { tool_use_id, digest = '' } = lastAsks(reader.held());
  await threads.decideApproval(thread_id, { tool_use_id, digest, decision: 'approve' });
  await after(reader, 'user_turn', 'roboto_turn');
  expect(reader.held().status).toBe('client_tool_turn');
  expect((await threads.header(thread_id)).pending).toHaveLength(2);
  const tool_results = [1, 2].map((n) => ({ tool_use_id: `turn_1_call_1_${n}`, status: 'success' as const }));
  await threads.submitToolResults(thread_id, { tool_results });
  await after(reader, 'client_tool_turn', 'roboto_turn');
  expect(told(reader.held()).at(-1)).toBe('assistant completed: Done.');
});
