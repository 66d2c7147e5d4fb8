/** Readers by deltas on the real server: what they put together is the thread, live text included, each piece once. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connectClient } from '../../worker/create-worker.js';
import { call, script } from '../support/test-agents.js';
import { createWorld } from '../support/world.js';
import type { World } from '../support/world.js';
import { follow, settled, threadConfig, told } from './thread-world.js';

let world: World;
beforeAll(async () => {
  world = await createWorld(threadConfig());
});
afterAll(() => world.end());

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const start = (turns: Parameters<typeof script>[0]) =>
  world.client.threads.start({ agent_id: 'test.agent', messages: [script(turns)] });

async function pollToTheEnd(reader: ReturnType<typeof follow>, everyMs: number) {
  const deltas = [];
  while (reader.held().status === 'roboto_turn') {
    deltas.push(await reader.poll());
    await wait(everyMs);
  }
  deltas.push(await reader.poll());
  return deltas;
}

it('two readers with tokens of their own, one of them without the worker’s channel, put the same thread together', async () => {
  // Without the worker's channel, as a gateway of its own would be: live text comes by signal.
  const other = await connectClient(world.server, { live: 'temporal' });
  try {
    const begun = await other.client.threads.start({
      agent_id: 'test.agent',
      messages: [
        script([
          {
            text: 'A few words before the tool, one by one.',
            delay_ms: 40,
            tool_calls: [call('tools.echo', { text: 'x' })],
          },
          { text: 'And as many words after it, also one by one.', delay_ms: 40 },
        ]),
      ],
    });
    const { threads } = world.client;
    const near = follow(threads, await threads.get(begun.thread_id));
    const far = follow(other.client.threads, begun);
    const [deltas] = await Promise.all([pollToTheEnd(near, 15), pollToTheEnd(far, 130)]);
    const record = await settled(threads, begun.thread_id);
    expect(near.held().messages).toEqual(record.messages);
    expect(far.held().messages).toEqual(record.messages);
    const { status, title, goals } = record;
    for (const reader of [near, far]) expect(reader.held()).toMatchObject({ status, title, goals });
    const growing = deltas.filter((delta) =>
      Object.values(delta.messages_by_idx).some((message) => message.status === 'generating'),
    );
    expect(growing.length).toBeGreaterThan(4);
    expect(deltas.some((delta) => delta.replaces_from !== undefined)).toBe(false);
    // Goals are told only when they change.
    expect(deltas.every((delta) => delta.goals === null)).toBe(true);
  } finally {
    await other.close();
  }
});

it('a reader goes on at another client, without the worker’s channel, with the token of the first', async () => {
  const begun = await start([{ text: 'Words that come one by one, some here and some there.', delay_ms: 60 }]);
  const { threads } = world.client;
  const first = follow(threads, begun);
  while (told(first.held()).length < 2) await first.poll();
  const other = await connectClient(world.server);
  try {
    const second = follow(other.client.threads, { ...begun, ...first.held() });
    await pollToTheEnd(second, 50);
    const record = await settled(threads, begun.thread_id);
    expect(second.held().messages).toEqual(record.messages);
  } finally {
    await other.close();
  }
});

it('text of an attempt that was given up is replaced, with a mark', async () => {
  const begun = await start([
    {
      text: 'the one that counts',
      delay_ms: 30,
      attempts: [{ text: ['some', ' other', ' words'], fail: { code: 'model_stream_cut', after_deltas: 3 } }, {}],
    },
  ]);
  const { threads } = world.client;
  const reader = follow(threads, begun);
  const deltas = await pollToTheEnd(reader, 10);
  const record = await settled(threads, begun.thread_id);
  expect(told(record).at(-1)).toBe('assistant completed: the one that counts');
  expect(reader.held().messages).toEqual(record.messages);
  expect(deltas.filter((delta) => delta.replaces_from === 1)).toHaveLength(1);
});

it('a delta without news is empty; a token of another thread, or none at all, is refused', async () => {
  const { threads } = world.client;
  const one = await start([{ text: 'One.' }]);
  const { continuation_token } = await settled(threads, one.thread_id);
  expect(await threads.delta(one.thread_id, continuation_token)).toEqual({
    continuation_token,
    messages_by_idx: {},
    status: null,
    title: null,
    goals: null,
  });
  const two = await start([{ text: 'Two.' }]);
  for (const token of [continuation_token, '', 'x.y', `${continuation_token}x`])
    await expect(threads.delta(two.thread_id, token)).rejects.toMatchObject({ code: 'invalid_request' });
});
