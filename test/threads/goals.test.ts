/** Goals of a thread's turns: achieved, failed after re-prompts, unknown. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { script } from '../support/test-agents.js';
import { createWorld, ofType } from '../support/world.js';
import type { World } from '../support/world.js';
import { follow, settled, threadConfig, told } from './thread-world.js';

let world: World;
beforeAll(async () => {
  world = await createWorld(threadConfig());
});
afterAll(() => world.end());

const goal = { goal_type: 'summary', goal_data: { about: 'the Alps' } };
const achieve = (args: object, n = '') => ({ tool: `runtime.goals.achieve_summary${n}`, args });
const start = (turns: Parameters<typeof script>[0], goals: (typeof goal | { goal_type: string })[]) =>
  world.client.threads.start({ agent_id: 'test.agent', messages: [script(turns)], goals });

it('a goal is achieved by its tool, whose arguments must fit', async () => {
  const { threads } = world.client;
  const begun = await start(
    [
      { tool_calls: [achieve({})], expect: { tools: ['runtime.goals.achieve_summary'] } },
      { tool_calls: [achieve({ text: 'High.' })] },
      { text: 'Done.' },
    ],
    [goal],
  );
  expect(begun.goals).toMatchObject([{ ...goal, message_sequence_num: 0 }]);
  const record = await settled(threads, begun.thread_id);
  expect(record.status).toBe('user_turn');
  expect(record.goals).toMatchObject([
    { status: 'achieved', concluded_at: expect.any(String), achieve_tool_use_id: 'turn_1_call_2_1' },
  ]);
  const log = await world.logOf(`${begun.thread_id}/turn_1`);
  expect(ofType(log, 'goal_declared')).toHaveLength(1);
  expect(ofType(log, 'goal_achieved')).toHaveLength(1);
  expect(ofType(log, 'tool_result').map((event) => event.status)).toEqual(['error', 'success']);
});

it('a turn that ends without its goals is told to go on, twice, and then they have failed', async () => {
  const { threads } = world.client;
  const { thread_id } = await start(
    [
      { text: 'No.' },
      { text: 'Still no.', expect: { last_user: 'not achieved yet' } },
      { text: 'Never.' },
      { text: 'What?' },
    ],
    [goal],
  );
  const record = await settled(threads, thread_id);
  expect(record.status).toBe('goals_failed');
  expect(record.goals).toMatchObject([{ status: 'failed', concluded_at: expect.any(String) }]);
  expect(told(record).slice(1)).toEqual([
    'assistant completed: No.',
    'assistant completed: Still no.',
    'assistant completed: Never.',
  ]);
  const log = await world.logOf(`${thread_id}/turn_1`);
  expect(ofType(log, 'reprompted')).toHaveLength(2);
  expect(ofType(log, 'goal_failed')).toMatchObject([{ goal_id: 'goal_1', reason: expect.stringContaining('2 times') }]);
  expect(log.at(-1)).toMatchObject({ type: 'run_completed', status: 'success', answer: 'Never.' });
  // A further message goes on.
  await threads.send(thread_id, { message: 'never mind' });
  const after = await settled(threads, thread_id);
  expect(after.status).toBe('user_turn');
  expect(told(after).at(-1)).toBe('assistant completed: What?');
});

it('a re-prompt can help', async () => {
  const { threads } = world.client;
  const { thread_id } = await start(
    [{ text: 'No.' }, { tool_calls: [achieve({ text: 'a' }), achieve({ text: 'b' }, '_2')] }, { text: 'Both.' }],
    [goal, goal],
  );
  const record = await settled(threads, thread_id);
  expect(record.status).toBe('user_turn');
  expect(record.goals).toMatchObject([
    { status: 'achieved', achieve_tool_use_id: 'turn_1_call_2_1' },
    { status: 'achieved', achieve_tool_use_id: 'turn_1_call_2_2' },
  ]);
});

it('a goal that failed names the last try, if there was one', async () => {
  const { threads } = world.client;
  const no = { text: 'No.' };
  const { thread_id } = await start([{ tool_calls: [achieve({}, '_2')] }, no, no, no], [goal, goal]);
  const { goals } = await settled(threads, thread_id);
  expect(goals).toMatchObject([
    { status: 'failed', achieve_tool_use_id: null },
    { status: 'failed', achieve_tool_use_id: 'turn_1_call_1_1' },
  ]);
});

it('a goal of an unknown type, or with other data than its type wants, fails at once with the reason', async () => {
  const { threads } = world.client;
  const { thread_id } = await start([{ text: 'Hm.' }], [{ goal_type: 'flight' }, { goal_type: 'summary' }]);
  const record = await settled(threads, thread_id);
  expect(record.status).toBe('goals_failed');
  expect(record.goals?.map(({ status }) => status)).toEqual(['failed', 'failed']);
  const log = await world.logOf(`${thread_id}/turn_1`);
  expect(ofType(log, 'reprompted')).toEqual([]);
  const [type, data] = ofType(log, 'goal_failed');
  expect(type?.reason).toBe('there is no goal type "flight"; there are: summary');
  expect(data?.reason).toMatch(/about/);
  expect(data?.seq).toBeLessThan(ofType(log, 'step_started')[0]?.seq ?? 0);
});

it('goals of a turn that is canceled have failed, and it is the user’s turn', async () => {
  const { threads } = world.client;
  const { thread_id } = await start([{ text: ['hm'], hang: true }], [goal]);
  for await (const event of world.client.runs.stream(`${thread_id}/turn_1`)) if (event.type === 'text_chunk') break;
  await threads.cancel(thread_id);
  const record = await settled(threads, thread_id);
  expect([record.status, record.goals?.[0]?.status]).toEqual(['user_turn', 'failed']);
});

it('there are five at most per turn', async () => {
  await expect(
    start(
      [{ text: 'x' }],
      Array.from({ length: 6 }, () => goal),
    ),
  ).rejects.toMatchObject({
    code: 'invalid_request',
  });
});

it('a goal that is achieved is so in deltas and in the record at once, while the turn goes on', async () => {
  const { threads } = world.client;
  const begun = await start(
    [{ tool_calls: [achieve({ text: 'High.' })] }, { text: ['Do', 'ne.'], delay_ms: 15_000 }],
    [goal, { goal_type: 'summary', goal_data: { about: 'the sea' } } as typeof goal],
  );
  const { thread_id } = begun;
  const reader = follow(threads, begun);
  // What the start is answered with may say so already.
  while (reader.held().status === 'roboto_turn' && reader.held().goals[0]?.status === 'pending') {
    await reader.poll();
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  expect(reader.held().status).toBe('roboto_turn');
  expect(reader.held().goals).toMatchObject([
    { status: 'achieved', concluded_at: expect.any(String), achieve_tool_use_id: 'turn_1_call_1_1' },
    { status: 'pending', achieve_tool_use_id: null },
  ]);
  const achieved = reader.held().goals[0];
  expect((await threads.get(thread_id)).goals?.[0]).toEqual(achieved);
  // It is said once.
  expect((await reader.poll()).goals).toBeNull();
  await threads.cancel(thread_id);
  const record = await settled(threads, thread_id);
  expect(record.goals).toMatchObject([achieved, { status: 'failed' }]);
  while (reader.held().status === 'roboto_turn') await reader.poll();
  expect(reader.held().goals).toEqual(record.goals);
});
