/**
 * Where a model call's conversation comes from: the worker's memory, else the history, with what left it for external
 * storage. Each is right, which the digest sees to, and none asks a workflow that is at work. What a turn leaves in its
 * thread is what its worker heard of it.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { READ_CONTEXT, READ_LOG } from '../../contract/names.js';
import type { RuntimeOptions } from '../../kit/index.js';
import { countQueries } from '../support/count-queries.js';
import { call, script } from '../support/test-agents.js';
import { createWindowModel, windowConfig, WINDOW_AGENT } from '../support/window-model.js';
import { createWorld, ofType } from '../support/world.js';
import type { World } from '../support/world.js';
import { settled, threadConfig, told } from '../threads/thread-world.js';

const queries = countQueries();

const isWhole = (request: unknown) => (request as { whole?: boolean }).whole === true;
const newId = () => `thr-${randomUUID()}`;
const LARGE = 'x'.repeat(150_000);
const echo = (text: string) => call('tools.echo', { text });

async function say(world: World, threadId: string, message: string) {
  await world.client.threads.send(threadId, { message });
  return settled(world.client.threads, threadId);
}

const WORKERS: [string, RuntimeOptions][] = [
  ['that remembers', {}],
  ['that remembers nothing', { context_cache_runs: 0 }],
  [
    'that remembers nothing of a thread that continues as new',
    { context_cache_runs: 0, continue_as_new_after_events: 30 },
  ],
];

describe.each(WORKERS)('a worker %s', { timeout: 120_000 }, (_what, runtime) => {
  let world: World;
  beforeAll(async () => {
    world = await createWorld(threadConfig(runtime));
  });
  afterAll(() => world.end());

  it('gives every turn what was said before, and asks no workflow for it', async () => {
    const { threads } = world.client;
    const thread_id = newId();
    const turns = [
      { thinking: 'hm', text: 'First.', tool_calls: [echo('a'), call('tools.quick', { do: 'throw' })] },
      { text: 'One.' },
      { tool_calls: [echo(LARGE)] },
      { text: LARGE },
      { text: 'Three.' },
      { text: 'Four.' },
    ];
    await threads.start({ thread_id, agent_id: 'test.agent', messages: [script(turns)] });
    await settled(threads, thread_id);
    for (const message of ['two', LARGE, 'four']) await say(world, thread_id, message);
    const { messages } = await threads.get(thread_id);
    // Each page of a run that has ended would be of the whole log: who asks so is whoever collects a turn.
    const collecting = queries(thread_id, READ_LOG).filter(({ request }) => isWhole(request));
    expect(collecting).toEqual([]);
    // The script is in the first message: that it is played on is the proof that all was read.
    expect(told({ messages }).at(-1)).toBe('assistant completed: Four.');
    expect(queries(thread_id, READ_CONTEXT)).toEqual([]);
  });

  it('begins a fork with what it took along', async () => {
    const { threads } = world.client;
    const thread_id = newId();
    const turns = [{ tool_calls: [echo('a')] }, { text: 'One.' }, { text: 'Two.' }, { text: 'Three.' }];
    await threads.start({ thread_id, agent_id: 'test.agent', messages: [script(turns), 'go'] });
    await settled(threads, thread_id);
    await say(world, thread_id, 'two');
    const at = (await threads.get(thread_id)).messages.length - 1;
    const fork = await threads.fork(thread_id, { message_sequence_num: at });
    await say(world, fork.thread_id, 'three');
    expect(told(await threads.get(fork.thread_id)).at(-1)).toBe('assistant completed: Three.');
    expect(queries(thread_id, READ_CONTEXT)).toEqual([]);
    expect(queries(fork.thread_id, READ_CONTEXT)).toEqual([]);
  });

  it('begins with what was done elsewhere, and was said in pieces', async () => {
    const { threads } = world.client;
    const thread_id = newId();
    const use = { tool_name: 'client_look', tool_use_id: 'toolu_1' };
    const text = (part: string) => ({ content_type: 'text' as const, text: part });
    await threads.start({
      thread_id,
      agent_id: 'test.agent',
      messages: [
        script([{ text: 'Before.' }, { text: 'One.' }, { text: 'Two.' }, { text: 'Three.' }]),
        { role: 'assistant', content: [{ content_type: 'tool_use', ...use, input: {} }] },
        {
          role: 'user',
          content: [
            { content_type: 'tool_result', ...use, status: 'success', runtime_ms: 3, raw_response: { depth: 3 } },
            text('So'),
            text('deep?'),
          ],
        },
      ],
    });
    await settled(threads, thread_id);
    for (const message of ['two', 'three']) await say(world, thread_id, message);
    expect(told(await threads.get(thread_id)).at(-1)).toBe('assistant completed: Three.');
    expect(queries(thread_id, READ_CONTEXT)).toEqual([]);
  });
});

describe.each(WORKERS)('a worker %s', { timeout: 120_000 }, (_what, runtime) => {
  let world: World;
  beforeAll(async () => {
    world = await createWorld(windowConfig(createWindowModel(1_500), { context_tokens: 1_500 }, runtime));
  });
  afterAll(() => world.end());

  it('goes on from a summary, of a turn and of the thread', async () => {
    const { threads } = world.client;
    const thread_id = newId();
    const question = (n: number) => `fact_${n} ${'x'.repeat(1_100)}`;
    await threads.start({ thread_id, agent_id: WINDOW_AGENT, messages: [question(1)] });
    await settled(threads, thread_id);
    const said = [question(2), question(3), question(4), question(5), 'fact_6 steps=6 size=400', 'fact_7'];
    for (const message of said) await say(world, thread_id, message);
    const logs = await Promise.all([1, 2, 3, 4, 5, 6, 7].map((turn) => world.logOf(`${thread_id}/turn_${turn}`)));
    const summaries = logs.map((log) => ofType(log, 'context_compacted').length);
    // Between turns, and within the one with the many steps.
    expect(summaries.filter((count) => count > 0).length).toBeGreaterThan(1);
    expect(summaries[5]).toBeGreaterThan(0);
    expect(queries(thread_id, READ_CONTEXT)).toEqual([]);
  });
});

it('a worker that remembers nothing takes a run up that has continued as new', { timeout: 120_000 }, async () => {
  const world = await createWorld(threadConfig({ context_cache_runs: 0, continue_as_new_after_events: 40 }));
  const run_id = `run-${randomUUID()}`;
  const steps = Array.from({ length: 8 }, (_, n) => ({ text: `step ${n}`, tool_calls: [echo(n === 2 ? LARGE : 'x')] }));
  await world.client.runs.start({ run_id, agent_id: 'test.agent', input: script([...steps, { text: 'The end.' }]) });
  const log = await world.logOf(run_id);
  expect(log.at(-1)).toMatchObject({ status: 'success', answer: 'The end.' });
  const { runId, raw } = await world.temporal.workflow.getHandle(run_id).describe();
  expect(raw.workflowExecutionInfo?.firstRunId).not.toBe(runId);
  expect(queries(run_id, READ_CONTEXT)).toEqual([]);
  await world.end();
});
