/**
 * Temporal takes 2,000 updates in one execution of a workflow; here it takes ten. A thread continues as new before they
 * run out. Where it cannot, since its turn is open, what is said to it goes as signals, and fares as an update does.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createClient } from '../../client/index.js';
import { createFewUpdates, signalledCommands } from '../support/few-updates.js';
import { script } from '../support/test-agents.js';
import { ask, child, treeConfig } from '../support/tree-agents.js';
import { ofType, until } from '../support/world.js';
import type { World } from '../support/world.js';
import { client_tools, settled, told } from './thread-world.js';

const TOTAL = 10;
const MESSAGES = 25;
const SIGNALS = 120;
const MUCH = 10_000_000;

let world: World;
beforeAll(async () => {
  world = await createFewUpdates(treeConfig(), { total: TOTAL, inFlight: 3, signals: SIGNALS });
});
afterAll(() => world.end());

const look = { tool: 'client.declared.client_look', args: {} };
const answers = (count: number) => Array.from({ length: count }, () => ({ text: 'ok' }));
const start = (turns: Parameters<typeof script>[0]) =>
  world.client.threads.start({ agent_id: 'test.node', messages: [script(turns)], client_tools });
const executionOf = async (id: string) => (await world.temporal.workflow.getHandle(id).describe()).runId;

async function saidIn(threadId: string): Promise<string[]> {
  const { messages } = await world.client.threads.get(threadId);
  return told({ messages: messages.filter(({ role }) => role === 'user').slice(1) }).map((line) =>
    line.replace('user completed: ', ''),
  );
}

/** A client that takes a history of this size for one that nears its end. */
function nearItsEnd(anything: { events: number; bytes: number }) {
  return createClient({
    client: world.temporal,
    taskQueue: world.server.taskQueue,
    limits: { history_room: { anything, what_ends_a_turn: { events: MUCH, bytes: MUCH } } },
  });
}

const texts = Array.from({ length: MESSAGES }, (_, n) => `message ${n}`);

describe('a thread of which the server takes few updates', { timeout: 240_000 }, () => {
  it('continues as new before they run out', async () => {
    const { threads } = world.client;
    const { thread_id } = await start(answers(MESSAGES + 1));
    await settled(threads, thread_id);
    const executions = new Set([await executionOf(thread_id)]);
    for (const message of texts) {
      expect(await threads.send(thread_id, { message })).toMatchObject({ state: 'started' });
      await settled(threads, thread_id);
      expect(await signalledCommands(world, thread_id)).toBe(0);
      executions.add(await executionOf(thread_id));
    }
    expect(executions.size).toBeGreaterThanOrEqual(Math.floor(MESSAGES / TOTAL));
    expect(await saidIn(thread_id)).toEqual(texts);
  });

  it('takes all that is said while its turn waits, once and in order, and then what ends the turn', async () => {
    const { threads } = world.client;
    const { thread_id } = await start([{ tool_calls: [look] }, ...answers(MESSAGES + 1)]);
    await settled(threads, thread_id);
    for (const [n, message] of texts.entries()) {
      const sent = { message, on_busy: 'enqueue' as const };
      const answer = await threads.send(thread_id, sent, { request_key: `key ${n}` });
      expect(answer).toMatchObject({ state: 'queued', ahead: n });
    }
    // A sender that heard no answer sends it again.
    const again = { message: texts.at(-1) ?? '', on_busy: 'enqueue' as const };
    const repeated = await threads.send(thread_id, again, { request_key: `key ${MESSAGES - 1}` });
    expect(repeated).toMatchObject({ state: 'queued', ahead: MESSAGES - 1 });
    expect(await signalledCommands(world, thread_id)).toBe(MESSAGES - TOTAL);

    const give = (tool_use_id: string) =>
      threads.submitToolResults(thread_id, { tool_results: [{ tool_use_id, status: 'success' }] });
    await expect(give('turn_1_call_9_9')).rejects.toMatchObject({ code: 'invalid_request' });
    await expect(threads.send(thread_id, { message: 'now' })).rejects.toMatchObject({ code: 'thread_busy' });
    await threads.rename(thread_id, 'Another title');
    await give('turn_1_call_1_1');
    await until(async () => (await saidIn(thread_id)).length === MESSAGES, 'all messages', 200_000);
    await settled(threads, thread_id);
    expect(await saidIn(thread_id)).toEqual(texts);
    expect((await threads.get(thread_id)).title).toBe('Another title');
  });

  it('takes many at once, from several processes, or tells their senders to wait', async () => {
    const { thread_id } = await start([{ tool_calls: [look] }, ...answers(4 * MESSAGES + 1)]);
    await settled(world.client.threads, thread_id);
    const clients = Array.from({ length: 4 }, () =>
      createClient({ client: world.temporal, taskQueue: world.server.taskQueue }),
    );
    const sent = clients.map(async ({ threads }, client) => {
      for (let n = 0; n < MESSAGES; n++) {
        const message = `client ${client} says ${n}`;
        const send = () => threads.send(thread_id, { message, on_busy: 'enqueue' }, { request_key: message });
        for (let isTaken = false; !isTaken;) {
          isTaken = await send().then(
            () => true,
            async (error: { code?: string; retry_after_ms?: number }) => {
              // On a busy machine a worker may not say in time that it has taken it.
              expect(['rate_limited', 'server_unreachable']).toContain(error.code);
              if (error.code === 'rate_limited') expect(error.retry_after_ms).toBeGreaterThan(0);
              await new Promise((resolve) => setTimeout(resolve, error.retry_after_ms ?? 1_000));
              return false;
            },
          );
        }
      }
    });
    await Promise.all(sent);
    expect((await world.client.threads.header(thread_id)).queued).toBe(4 * MESSAGES);
    const queued = await world.client.threads.get(thread_id, { queued: true });
    const lines = told({ messages: queued.messages.slice(-4 * MESSAGES) });
    for (let client = 0; client < 4; client++) {
      const own = lines.filter((line) => line.includes(`client ${client} says`));
      expect(own).toEqual(texts.map((_, n) => `user not_started: client ${client} says ${n}`));
    }
    expect(await world.client.threads.cancel(thread_id)).toMatchObject({ run_id: `${thread_id}/turn_1` });
    await world.client.threads.delete(thread_id);
    await world.temporal.workflow.getHandle(thread_id).result();
  });

  it('looks anew at what it has refused', async () => {
    const { threads } = world.client;
    // The third call keeps the turn open, and the thread in one execution.
    const { thread_id } = await start([...[1, 2, 3].map(() => ({ tool_calls: [look] })), ...answers(1)]);
    await settled(threads, thread_id);
    for (let n = 0; n < TOTAL; n++) await threads.rename(thread_id, `title ${n}`);
    const give = (tool_use_id: string) =>
      threads.submitToolResults(
        thread_id,
        { tool_results: [{ tool_use_id, status: 'success' }] },
        { request_key: tool_use_id },
      );
    // A moment too early.
    await expect(give('turn_1_call_2_1')).rejects.toMatchObject({ code: 'invalid_request' });
    await expect(give('turn_1_call_2_1')).rejects.toMatchObject({ code: 'invalid_request' });
    await give('turn_1_call_1_1');
    const isAsked = async (n: number) =>
      (await threads.header(thread_id)).pending[0]?.tool_use_id === `turn_1_call_${n}_1`;
    await until(() => isAsked(2), 'the second call');
    await give('turn_1_call_2_1');
    // What was taken is taken once.
    await give('turn_1_call_2_1');
    expect(await signalledCommands(world, thread_id)).toBe(4);
    await until(() => isAsked(3), 'the third call');
    await give('turn_1_call_3_1');
    await until(async () => (await threads.header(thread_id)).turn === undefined, 'the end of the turn');
  });

  it('can be answered when its history nears its end', async () => {
    const { thread_id } = await start([{ tool_calls: [ask('Which?')] }, ...answers(1)]);
    await settled(world.client.threads, thread_id);
    for (let n = 0; n < TOTAL; n++) await world.client.threads.rename(thread_id, `title ${n}`);
    const { threads } = nearItsEnd({ events: 10, bytes: MUCH });
    await expect(threads.rename(thread_id, 'one more')).rejects.toMatchObject({ code: 'rate_limited' });
    expect(await threads.send(thread_id, { message: 'this' })).toMatchObject({ state: 'answered' });
    await until(async () => (await threads.header(thread_id)).turn === undefined, 'the end of the turn');
  });

  it.each([
    ['events', { events: 10, bytes: MUCH }],
    ['bytes', { events: MUCH, bytes: 1_000 }],
  ])('is sent no more when its history nears its end in %s, but for what can end the turn', async (_what, anything) => {
    const { thread_id } = await start([{ tool_calls: [look] }, ...answers(TOTAL + 1)]);
    await settled(world.client.threads, thread_id);
    const { threads } = nearItsEnd(anything);
    const send = (message: string) => threads.send(thread_id, { message, on_busy: 'enqueue' });
    for (let n = 0; n < TOTAL; n++) await send(`message ${n}`);
    await expect(send('one more')).rejects.toMatchObject({ code: 'rate_limited', retry_after_ms: expect.any(Number) });
    await threads.submitToolResults(thread_id, {
      tool_results: [{ tool_use_id: 'turn_1_call_1_1', status: 'success' }],
    });
    await until(async () => (await saidIn(thread_id)).length === TOTAL, 'all messages', 100_000);
    await settled(threads, thread_id);
    expect(await send('one more')).toMatchObject({ state: 'started' });
  });
});

describe('a thread of which the server takes no more signals either', { timeout: 120_000 }, () => {
  it('has its senders wait, and is not said to be gone', async () => {
    const { threads } = world.client;
    const { thread_id } = await start([{ tool_calls: [look] }, ...answers(TOTAL + 2)]);
    await settled(threads, thread_id);
    const send = (message: string) => threads.send(thread_id, { message, on_busy: 'enqueue' });
    const mark = { by: 'ann', digest: 'one' };
    await threads.send(thread_id, { message: 'message 0', on_busy: 'enqueue' }, { mark });
    for (let n = 1; n < TOTAL; n++) await send(`message ${n}`);
    const handle = world.temporal.workflow.getHandle(thread_id);
    for (let isTaken = true; isTaken;)
      isTaken = await handle.signal('no_such_signal').then(
        () => true,
        () => false,
      );
    await expect(send('one more')).rejects.toMatchObject({ code: 'rate_limited', retry_after_ms: expect.any(Number) });
    await expect(threads.cancel(thread_id)).rejects.toMatchObject({ code: 'rate_limited' });
    expect(await threads.get(thread_id, { reader: 'ann' })).toMatchObject({ status: 'client_tool_turn' });
    // The run of the turn can be told itself.
    await world.client.runs.cancel(`${thread_id}/turn_1`);
    await until(async () => (await saidIn(thread_id)).length === TOTAL, 'all messages', 100_000);
    await settled(threads, thread_id);
    expect(await send('one more')).toMatchObject({ state: 'started' });
  });
});

/** Its child may wait, too, by then. */
async function asksClient(runId: string): Promise<boolean> {
  const { awaits } = await world.client.runs.get(runId);
  return awaits.some(({ kind }) => kind === 'external_tools');
}

describe('a run of which the server takes few updates', { timeout: 120_000 }, () => {
  it('takes every answer, each once, while a child keeps it from continuing as new', async () => {
    const { runs } = world.client;
    const calls = Array.from({ length: 2 * TOTAL }, () => look);
    const { run_id } = await runs.start({
      agent_id: 'test.node',
      input: script([
        { tool_calls: [...calls, child([{ tool_calls: [ask('Which?')] }, { text: 'this' }])] },
        { text: '!' },
      ]),
      client_tools,
    });
    await until(() => asksClient(run_id), 'the pause');
    const give = (n: number) =>
      runs.submitToolResults(run_id, {
        results: [{ tool_call_id: `call_1_${n}`, status: 'success', output: `result ${n}` }],
      });
    for (let n = 1; n < calls.length; n++) await give(n);
    expect(await signalledCommands(world, run_id)).toBe(TOTAL - 1);
    await expect(give(1)).rejects.toMatchObject({ code: 'invalid_request' });
    await expect(give(calls.length + 7)).rejects.toMatchObject({ code: 'invalid_request' });
    await give(calls.length);
    const childId = `${run_id}/call_1_${calls.length + 1}`;
    await until(async () => (await runs.get(childId)).awaits.length === 1, 'the question of the child');
    await runs.answerClarification(childId, { await_id: 'clarification_call_1_1', answer: 'this' });
    const log = await world.logOf(run_id);
    const given = ofType(log, 'tool_result').map(({ tool_call_id, content }) => [tool_call_id, content]);
    const wanted = calls.map((_, n) => [`call_1_${n + 1}`, `result ${n + 1}`]);
    expect(given).toHaveLength(calls.length + 1);
    expect(given).toEqual(expect.arrayContaining([...wanted, [`call_1_${calls.length + 1}`, 'this']]));
    expect(log.at(-1)).toMatchObject({ type: 'run_completed', status: 'success' });
    expect(ofType(log, 'answer_rejected')).toEqual([]);
    await expect(give(1)).rejects.toMatchObject({ code: 'run_ended' });
  });

  it('takes a cancel', async () => {
    const { runs } = world.client;
    const calls = Array.from({ length: 2 * TOTAL }, () => look);
    const { run_id } = await runs.start({
      agent_id: 'test.node',
      input: script([{ tool_calls: [...calls, child([{ tool_calls: [ask('Which?')] }])] }]),
      client_tools,
    });
    await until(() => asksClient(run_id), 'the pause');
    for (let n = 1; n <= TOTAL; n++)
      await runs.submitToolResults(run_id, { results: [{ tool_call_id: `call_1_${n}`, status: 'success' }] });
    await runs.cancel(run_id, { note: 'enough' });
    expect(await signalledCommands(world, run_id)).toBe(1);
    expect((await world.logOf(run_id)).at(-1)).toMatchObject({ status: 'canceled' });
  });
});
