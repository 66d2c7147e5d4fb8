/** Threads that live long: continue-as-new between turns, prefixes that another worker reads, killed workers. */
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { call, script } from '../support/test-agents.js';
import { createWorld, isCalling, until } from '../support/world.js';
import type { World } from '../support/world.js';
import { startWorkerProcess } from '../support/worker-process.js';
import type { WorkerProcess } from '../support/worker-process.js';
import { follow, settled, threadConfig, told } from './thread-world.js';

const worlds: World[] = [];
const workers: WorkerProcess[] = [];
async function makeWorld(...options: Parameters<typeof createWorld>): Promise<World> {
  const world = await createWorld(...options);
  worlds.push(world);
  return world;
}
afterAll(async () => {
  for (const worker of workers) worker.kill('SIGKILL');
  await Promise.all(worlds.map((world) => world.end()));
});

const answers = (n: number) => script(Array.from({ length: n }, (_, index) => ({ text: `Answer ${index + 1}.` })));

describe('a thread', () => {
  it('continues as new between turns, with its record, its tokens and its messages that wait', async () => {
    const world = await makeWorld(threadConfig({ continue_as_new_after_events: 30 }));
    const { threads } = world.client;
    const begun = await threads.start({ agent_id: 'test.agent', messages: [answers(8)] });
    const { thread_id } = begun;
    const reader = follow(threads, begun);
    const handle = world.temporal.workflow.getHandle(thread_id);
    const first = (await handle.describe()).runId;
    await settled(threads, thread_id);
    for (let n = 2; n <= 8; n++) {
      await threads.send(thread_id, { message: `question ${n}`, on_busy: 'enqueue' });
      if (n % 3 === 0) await settled(threads, thread_id);
    }
    await until(async () => (await threads.get(thread_id)).messages.length === 16, 'all answers');
    const record = await settled(threads, thread_id);
    expect(told(record).slice(-2)).toEqual(['user completed: question 8', 'assistant completed: Answer 8.']);
    expect((await handle.describe()).runId).not.toBe(first);
    await reader.poll();
    expect(reader.held().messages).toEqual(record.messages);
  });

  it('carries a record that is larger than a payload may be', { timeout: 120_000 }, async () => {
    const world = await makeWorld(threadConfig({ continue_as_new_after_events: 30 }));
    const { threads } = world.client;
    const big = call('outputs.big', { bytes: 60_000, ran: join(world.server.dataDir, 'ran') });
    const turns = Array.from({ length: 6 }, (_, n) => [{ tool_calls: [big, big] }, { text: `Answer ${n + 1}.` }]);
    const { thread_id } = await threads.start({ agent_id: 'test.agent', messages: [script(turns.flat())] });
    for (let n = 2; n <= 6; n++) {
      await settled(threads, thread_id);
      await threads.send(thread_id, { message: `question ${n}` });
    }
    const record = await settled(threads, thread_id);
    expect(told(record).at(-1)).toBe('assistant completed: Answer 6.');
    expect(JSON.stringify(record).length).toBeGreaterThan(720_000);
    const results = record.messages.flatMap(({ role, content }) => (role === 'roboto' ? content : []));
    expect(results.map((result) => JSON.stringify(result).length > 60_000)).toEqual(
      Array.from({ length: 12 }, () => true),
    );
    const history = await world.temporal.workflow.getHandle(thread_id).fetchHistory();
    const started = history.events?.[0]?.workflowExecutionStartedEventAttributes;
    expect(started?.continuedExecutionRunId).toBeTruthy();
    const bytes = (started?.input?.payloads ?? []).reduce((sum, { data }) => sum + (data?.length ?? 0), 0);
    expect(bytes).toBeLessThan(20_000);
  });

  it('keeps a long tool output by reference: the message has its ends, the store all of it', async () => {
    const world = await makeWorld(threadConfig());
    const { threads } = world.client;
    const bytes = 5 * 1024 * 1024;
    const big = call('outputs.big', { bytes, ran: join(world.server.dataDir, 'ran') });
    const { thread_id } = await threads.start({
      agent_id: 'test.agent',
      messages: [script([{ tool_calls: [big] }, { text: 'Long.' }, { text: 'Still long.' }])],
    });
    const { messages } = await settled(threads, thread_id);
    expect(told({ messages }).slice(2)).toEqual([
      'roboto completed: success turn_1_call_1_1',
      'assistant completed: Long.',
    ]);
    const [result] = messages[2]?.content ?? [];
    if (result?.content_type !== 'tool_result') expect.fail('no tool result');
    expect(result.raw_response).toEqual({ result: expect.stringContaining('[trimmed: ') });
    expect(result.told).toMatchObject({ trimmed: true, output_ref: { byte_size: bytes } });
    expect(JSON.stringify(messages).length).toBeLessThan(20_000);
    const { id = '' } = result.told?.output_ref ?? {};
    expect((await world.artefacts.of(thread_id).read(id)).byteLength).toBe(bytes);
    await threads.send(thread_id, { message: 'and now?' });
    expect(told(await settled(threads, thread_id)).at(-1)).toBe('assistant completed: Still long.');
    for (const workflow of [thread_id, `${thread_id}/turn_1`, `${thread_id}/turn_2`])
      expect((await world.temporal.workflow.getHandle(workflow).describe()).historySize).toBeLessThan(64 * 1024);
  });

  it('costs as much history in a late turn as in an early one', async () => {
    const world = await makeWorld(threadConfig());
    const { threads } = world.client;
    const turns = 12;
    const { thread_id } = await threads.start({ agent_id: 'test.agent', messages: [answers(turns)] });
    const handle = world.temporal.workflow.getHandle(thread_id);
    const lengths: number[] = [];
    const runLengths: number[] = [];
    for (let n = 1; n <= turns; n++) {
      if (n > 1) await threads.send(thread_id, { message: 'the same question' });
      await until(async () => (await threads.get(thread_id)).status === 'user_turn', 'the answer');
      const { historyLength } = await handle.describe();
      lengths.push(historyLength);
      const run = await world.temporal.workflow.getHandle(`${thread_id}/turn_${n}`).fetchHistory();
      runLengths.push(JSON.stringify(run).length);
    }
    const costs = lengths.slice(2).map((length, n) => length - (lengths[n + 1] ?? 0));
    // Which events share a workflow task depends on timing; the size of the thread does not enter.
    expect(Math.max(...costs)).toBeLessThanOrEqual(Math.min(...costs) + 8);
    expect(Math.max(...runLengths.slice(1)) - Math.min(...runLengths.slice(1))).toBeLessThan(2_000);
  });
});

it('a turn’s model call reads the thread from its history when its worker has nothing of it', async () => {
  const world = await makeWorld(threadConfig({ context_cache_runs: 0 }));
  const { threads } = world.client;
  const { thread_id } = await threads.start({
    agent_id: 'test.agent',
    messages: [
      script([
        { tool_calls: [call('tools.echo', { text: 'x'.repeat(50_000) })] },
        { text: 'One.' },
        { tool_calls: [call('tools.echo', { text: 'y' })], expect: { last_user: 'more' } },
        { text: 'Two.', expect: { tool_results: 1 } },
      ]),
    ],
  });
  await settled(threads, thread_id);
  await threads.send(thread_id, { message: 'more' });
  expect(told(await settled(threads, thread_id)).slice(-3)).toEqual([
    'assistant completed: use turn_2_call_1_1',
    'roboto completed: success turn_2_call_1_1',
    'assistant completed: Two.',
  ]);
});

it('a turn whose worker is killed goes on with another one, which reads the thread anew', async () => {
  const world = await makeWorld(threadConfig());
  const { threads } = world.client;
  const messages = [
    script([{ text: 'One.' }, { tool_calls: [{ tool: 'test.patient.wait', args: {} }] }, { text: 'Two.' }]),
  ];
  const server = { ...world.server, taskQueue: `${world.server.taskQueue}-killed` };
  const first = await startWorkerProcess({ server });
  workers.push(first);
  const thread_id = `thr_killed_${Date.now()}`;
  await world.temporal.workflow.start('agentThread', {
    workflowId: thread_id,
    taskQueue: server.taskQueue,
    args: [{ agent_id: 'test.patient', messages }],
  });
  await until(async () => (await threads.get(thread_id)).status === 'user_turn', 'the first answer');
  await threads.send(thread_id, { message: 'and now wait' });
  const isWaiting = () => isCalling(world.temporal, `${thread_id}/turn_2`).catch(() => false);
  await until(isWaiting, 'the second turn to wait in its tool');
  first.kill('SIGKILL');
  await first.exited;
  workers.push(await startWorkerProcess({ server }));
  const record = await settledLater(thread_id);
  expect(told(record).slice(2)).toEqual([
    'user completed: and now wait',
    'assistant completed: use turn_2_call_1_1',
    'roboto completed: success turn_2_call_1_1',
    'assistant completed: Two.',
  ]);

  async function settledLater(id: string) {
    await until(
      async () => (await threads.get(id).catch(() => undefined))?.status === 'user_turn',
      'the turn to end with the second worker',
      60_000,
    );
    return threads.get(id);
  }
}, 120_000);
