/** How much a thread takes: what waits for its turn, and all that it holds. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Threads } from '../../client/index.js';
import { createSendQueue } from '../../client/threads/send-queue.js';
import { script } from '../support/test-agents.js';
import { createWorld, until } from '../support/world.js';
import type { World } from '../support/world.js';
import { client_tools, settled, threadConfig, told } from './thread-world.js';

let world: World;
let threads: Threads;
beforeAll(async () => {
  world = await createWorld({ ...threadConfig(), threads: { max_bytes: MOST } });
  ({ threads } = world.client);
});
afterAll(() => world.end());

const look = { tool_calls: [{ tool: 'client.declared.client_look', args: {} }] };
const text = (bytes: number) => 'x'.repeat(bytes);
const MOST = 400_000;
const LARGE = 12_000;

async function waiting(threadId: string): Promise<void> {
  await until(async () => (await threads.header(threadId)).status === 'client_tool_turn', 'the client’s turn');
}

async function giveResult(threadId: string): Promise<void> {
  const [use] = (await threads.header(threadId)).pending;
  await threads.submitToolResults(threadId, {
    tool_results: [{ tool_use_id: use?.tool_use_id ?? '', status: 'success', output: 'seen' }],
  });
}

describe('messages that wait for their turn', () => {
  it('have a bound of bytes, and are refused with the sizes beyond it, one by one and together', async () => {
    const { thread_id } = await threads.start({
      agent_id: 'test.agent',
      messages: [script([look, ...Array.from({ length: 10 }, (_, n) => ({ text: `Answer ${n + 1}.` }))])],
      client_tools,
    });
    await waiting(thread_id);
    const say = (bytes: number, on_busy: 'enqueue' | 'interrupt' = 'enqueue') =>
      threads.send(thread_id, { message: text(bytes), on_busy });
    for (let n = 0; n < 8; n++) expect(await say(LARGE)).toMatchObject({ state: 'queued', ahead: n });
    const refused = (count: number) =>
      expect.objectContaining({
        code: 'rate_limited',
        message: expect.stringMatching(
          new RegExp(
            `^${count} messages of \\d+ bytes wait for their turn in thread ${thread_id}, and at most ${MOST / 4} fit: there is no room for \\d+ more`,
          ),
        ),
      });
    await expect(say(LARGE)).rejects.toEqual(refused(8));
    await expect(say(LARGE, 'interrupt')).rejects.toEqual(refused(8));
    await say(MOST / 4 - 8 * LARGE - 1_500);
    // The first of them goes alone, and the others together.
    const together = await Promise.allSettled([say(900), say(901), say(902)]);
    for (const each of together) expect(each).toMatchObject({ status: 'rejected', reason: refused(9) });
    const handle = world.temporal.workflow.getHandle(thread_id);
    const { historyLength } = await handle.describe();
    // A batch of which nothing can be taken leaves nothing in the history.
    await Promise.allSettled([say(903), say(904), say(905)]);
    expect((await handle.describe()).historyLength).toBe(historyLength);
    expect((await threads.header(thread_id)).queued).toBe(9);
    await giveResult(thread_id);
    await until(async () => (await threads.header(thread_id)).turns === 10, 'the last turn');
    expect(told(await settled(threads, thread_id)).at(-1)).toBe('assistant completed: Answer 10.');
  });
});

describe('messages that a client holds until their thread takes them', () => {
  it('have a bound of characters too', async () => {
    const updates = { execute: () => new Promise<never>(() => {}) };
    const send = createSendQueue(updates);
    const say = (bytes: number) =>
      send('thr_1', { message: { role: 'user', content: [{ content_type: 'text', text: text(bytes) }] } }, undefined);
    // The first one is on its way.
    void say(10);
    for (let n = 0; n < 8; n++) void say(1_000_000);
    await expect(say(1_000_000)).rejects.toMatchObject({
      code: 'rate_limited',
      message: expect.stringMatching(/^8 messages of 80\d{5} characters wait to be taken by thread thr_1/),
    });
  });
});

describe('a thread', () => {
  it('that is full takes nothing more, and answers what had waited by an error', async () => {
    const answer = text(15_000);
    const replies = Array.from({ length: 7 }, () => ({ text: 'ok' }));
    const { thread_id } = await threads.start({
      agent_id: 'test.agent',
      messages: [script([...replies, look, { text: answer }, { text: 'never said' }])],
      client_tools,
    });
    for (let n = 0; n < 6; n++) {
      await settled(threads, thread_id);
      await threads.send(thread_id, { message: text(60_000) });
    }
    await settled(threads, thread_id);
    await threads.send(thread_id, { message: text(LARGE) });
    await waiting(thread_id);
    await expect(threads.send(thread_id, { message: text(15_000), on_busy: 'enqueue' })).rejects.toMatchObject({
      code: 'thread_full',
      message: expect.stringMatching(
        new RegExp(
          `^thread ${thread_id} holds 38\\d{4} bytes, and at most ${MOST} fit: there is no room for 15\\d{3} more`,
        ),
      ),
    });
    await threads.send(thread_id, { message: 'and then?', on_busy: 'enqueue' });
    await giveResult(thread_id);
    await until(async () => (await threads.header(thread_id)).queued === 0, 'an empty queue');
    const record = await settled(threads, thread_id);
    expect(told(record).slice(-2)).toEqual(['user completed: and then?', 'assistant failed: error thread_full']);
    expect(record.messages.at(-3)?.content).toEqual([{ content_type: 'text', text: answer }]);
    expect((await threads.header(thread_id)).turns).toBe(8);
    await expect(threads.send(thread_id, { message: 'hello?' })).rejects.toMatchObject({ code: 'thread_full' });
    const fork = await threads.fork(thread_id, { message_sequence_num: 1 });
    await threads.send(fork.thread_id, { message: 'hello?' });
    expect(told(await settled(threads, fork.thread_id)).at(-1)).toBe('assistant completed: ok');
  });
});
