/**
 * Requests that come again: clients repeat a POST byte for byte after a 5xx or a cut connection, without a key. That a
 * real client does so, and what it sees, is in test/roboto/.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SendAnswer } from '../../../contract/thread-commands.js';
import { client_tools, settled, told } from '../../threads/thread-world.js';
import { createThreadGateway, dataOf, refusalOf, said, startBody, threadPath } from './thread-gateway.js';
import type { ThreadGateway } from './thread-gateway.js';

let world: ThreadGateway;
beforeAll(async () => {
  world = await createThreadGateway();
});
afterAll(() => world.stop());

const threads = () => world.world.client.threads;
const texts = async (threadId: string) => told(await settled(threads(), threadId)).slice(1);
const body = (...turns: Parameters<typeof startBody>[0]) => startBody(turns, { title: randomUUID() });

async function begin(answers: number): Promise<string> {
  const turns = Array.from({ length: answers }, (_, n) => ({ text: `Answer ${n + 1}.` }));
  const { thread_id } = dataOf(await world.callers.ann.post('/v1/ai/threads', body(...turns)));
  await settled(threads(), thread_id);
  return thread_id;
}

describe('a message', () => {
  it('that comes again before its sender has read it is the same; the same words later are a new one', async () => {
    const { ann } = world.callers;
    const threadId = await begin(3);
    const send = async () =>
      dataOf<SendAnswer>(await ann.post(threadPath(threadId, '/messages'), { message: said('more') }));
    const first = await send();
    expect(await send()).toEqual(first);
    // Also after the turn is over.
    expect(await texts(threadId)).toHaveLength(3);
    expect(await send()).toEqual(first);
    expect(await texts(threadId)).toHaveLength(3);
    // A reader that is not loaded with the messages has not seen them, nor has anybody else's reading to do with it.
    dataOf(await ann.get(threadPath(threadId, '?load_messages=False')));
    dataOf(await world.callers.ada.get(threadPath(threadId)));
    expect(await send()).toEqual(first);
    dataOf(await ann.get(threadPath(threadId, '?load_messages=True')));
    expect(await send()).not.toEqual(first);
    expect(await texts(threadId)).toEqual([
      'assistant completed: Answer 1.',
      'user completed: more',
      'assistant completed: Answer 2.',
      'user completed: more',
      'assistant completed: Answer 3.',
    ]);
  });

  it('is acknowledged by a delta too, once', async () => {
    const { ann } = world.callers;
    const threadId = await begin(3);
    const { continuation_token } = await threads().get(threadId);
    const send = async () =>
      dataOf<SendAnswer>(await ann.post(threadPath(threadId, '/messages'), { message: said('more') }));
    const poll = async (token: string) =>
      dataOf<{ continuation_token: string }>(await ann.get(threadPath(threadId, `/delta?next_token=${token}`)));
    const first = await send();
    const { continuation_token: next } = await poll(continuation_token);
    await poll(next);
    await poll(continuation_token);
    await settled(threads(), threadId);
    expect(await send()).not.toEqual(first);
    const { events } = await world.world.temporal.workflow.getHandle(threadId).fetchHistory();
    const signals = (events ?? []).map((event) => event.workflowExecutionSignaledEventAttributes?.signalName);
    // One for the start, and one for the message.
    expect(signals.filter((name) => name === 'acknowledge')).toHaveLength(1);
    expect((await threads().header(threadId)).unseen).toHaveLength(1);
  });

  it('of somebody else with the same words is another one', async () => {
    const threadId = await begin(3);
    const send = (by: 'ann' | 'ada') =>
      world.callers[by].post(threadPath(threadId, '/messages'), { message: said('more'), on_busy: 'enqueue' });
    dataOf(await send('ann'));
    dataOf(await send('ada'));
    await settled(threads(), threadId);
    expect((await texts(threadId)).filter((text) => text === 'user completed: more')).toHaveLength(2);
  });

  it('that waits for its turn is not queued twice, and is new once it was read', async () => {
    const { ann } = world.callers;
    const turns = [{ text: ['Hm'], hang: true as const }, { text: 'Two.' }, { text: 'Three.' }];
    const { thread_id } = dataOf(await ann.post('/v1/ai/threads', body(...turns)));
    const send = async () =>
      dataOf<SendAnswer>(
        await ann.post(threadPath(thread_id, '/messages'), { message: said('more'), on_busy: 'enqueue' }),
      );
    const first = await send();
    expect(first).toEqual({ thread_id, state: 'queued', ahead: 0 });
    // It is not to be read yet.
    dataOf(await ann.get(threadPath(thread_id)));
    expect(await send()).toEqual(first);
    expect((await threads().header(thread_id)).queued).toBe(1);
    dataOf(await ann.post(threadPath(thread_id, '/cancel')));
    await settled(threads(), thread_id);
    expect(await send()).toEqual(first);
    dataOf(await ann.get(threadPath(thread_id)));
    expect(await send()).toMatchObject({ state: 'started' });
    expect((await texts(thread_id)).filter((text) => text === 'user completed: more')).toHaveLength(2);
  });

  it('with a key is known by it, and another one under the same key is refused', async () => {
    const { ann } = world.callers;
    const threadId = await begin(3);
    const headers = { 'idempotency-key': randomUUID() };
    const send = (text: string) => ann.post(threadPath(threadId, '/messages'), { message: said(text) }, headers);
    const first = dataOf<SendAnswer>(await send('more'));
    await settled(threads(), threadId);
    dataOf(await ann.get(threadPath(threadId)));
    expect(dataOf<SendAnswer>(await send('more'))).toEqual(first);
    expect(refusalOf(await send('else')).slice(0, 2)).toEqual([409, 'RobotoConflictException']);
    expect(await texts(threadId)).toHaveLength(3);
    // Under another key, or none, the same words are another message, read or not.
    headers['idempotency-key'] = randomUUID();
    expect(dataOf<SendAnswer>(await send('more'))).not.toEqual(first);
    expect(await texts(threadId)).toHaveLength(5);
  });

  it('to a thread at work is a conflict', async () => {
    const { ann } = world.callers;
    const { thread_id } = dataOf(await ann.post('/v1/ai/threads', body({ text: ['Hm'], hang: true })));
    const answer = await ann.post(threadPath(thread_id, '/messages'), { message: said('now?') });
    expect(refusalOf(answer)).toEqual([
      409,
      'RobotoConflictException',
      expect.stringContaining('takes no message now'),
    ]);
    dataOf(await ann.post(threadPath(thread_id, '/cancel')));
  });
});

describe('a start', () => {
  it('that comes again gives the same thread, until its creator has read it', async () => {
    const { ann, bob } = world.callers;
    const request = body({ text: 'Hello.' });
    const start = async (by = ann) => dataOf(await by.post('/v1/ai/threads', request)).thread_id;
    const [first, again] = await Promise.all([start(), start()]);
    expect(again).toBe(first);
    expect(await start()).toBe(first);
    expect(await start(bob)).not.toBe(first);
    dataOf(await ann.get(threadPath(first)));
    const second = await start();
    expect(second).not.toBe(first);
    expect(await start()).toBe(second);
    // Whoever writes to it knows of it.
    await settled(threads(), second);
    dataOf(await ann.post(threadPath(second, '/messages'), { message: said('x') }));
    const third = await start();
    expect([first, second]).not.toContain(third);
    // One that is gone is not what is asked for.
    dataOf(await ann.call('DELETE', threadPath(third)));
    expect([first, second, third]).not.toContain(await start());
  });

  it('with a key is known by it, also after it was read; another one under the same key is refused', async () => {
    const { ann } = world.callers;
    const headers = { 'idempotency-key': randomUUID() };
    const request = body({ text: 'Hello.' });
    const first = dataOf(await ann.post('/v1/ai/threads', request, headers));
    dataOf(await ann.get(threadPath(first.thread_id)));
    expect(dataOf(await ann.post('/v1/ai/threads', request, headers)).thread_id).toBe(first.thread_id);
    const other = await ann.post('/v1/ai/threads', body({ text: 'Else.' }), headers);
    expect(refusalOf(other).slice(0, 2)).toEqual([409, 'RobotoConflictException']);
  });
});

it('a fork that comes again is the same, until it was read', async () => {
  const { ann } = world.callers;
  const threadId = await begin(1);
  const fork = async (n: number) =>
    dataOf(await ann.post(threadPath(threadId, '/fork'), { message_sequence_num: n })).thread_id;
  const first = await fork(1);
  expect(await fork(1)).toBe(first);
  expect(await fork(0)).not.toBe(first);
  dataOf(await ann.get(threadPath(first)));
  expect(await fork(1)).not.toBe(first);
});

it('results of client tools that come again are taken once', async () => {
  const { ann } = world.callers;
  const look = { tool: 'client.declared.client_look', args: {} };
  const request = { ...body({ tool_calls: [look] }, { text: 'Seen.' }), client_tools };
  const { thread_id } = dataOf(await ann.post('/v1/ai/threads', request));
  await settled(threads(), thread_id);
  const results = (output: object) => ({
    tool_results: [
      { tool_use_id: 'turn_1_call_1_1', tool_name: 'client_look', runtime_ms: 3, status: 'success', output },
    ],
    client_tools: null,
  });
  const give = (output: object) => ann.post(threadPath(thread_id, '/tool-results'), results(output));
  dataOf(await give({ seen: 1 }));
  dataOf(await give({ seen: 1 }));
  expect(refusalOf(await give({ seen: 2 })).slice(0, 2)).toEqual([400, 'RobotoInvalidRequestException']);
  await settled(threads(), thread_id);
  dataOf(await ann.get(threadPath(thread_id)));
  dataOf(await give({ seen: 1 }));
  expect(await texts(thread_id)).toEqual([
    'assistant completed: use turn_1_call_1_1',
    'roboto completed: success turn_1_call_1_1',
    'assistant completed: Seen.',
  ]);
});
