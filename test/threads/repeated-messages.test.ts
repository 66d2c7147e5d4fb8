/** Requests that are known again by their mark, in the thread itself; over HTTP they are in test/gateway/threads. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { isNews, isRepeatOf, REPEATS_WITHIN_MS } from '../../contract/request-mark.js';
import { script } from '../support/test-agents.js';
import { createWorld, until } from '../support/world.js';
import type { World } from '../support/world.js';
import { settled, threadConfig, told } from './thread-world.js';

let world: World;
beforeAll(async () => {
  world = await createWorld(threadConfig({ continue_as_new_after_events: 10 }));
});
afterAll(() => world.end());

const mark = { by: 'somebody', digest: 'more' };

it('a message is known again after the thread has continued as new, until it was read', async () => {
  const { threads } = world.client;
  const turns = Array.from({ length: 3 }, (_, n) => ({ text: `Answer ${n + 1}.` }));
  const { thread_id } = await threads.start({ agent_id: 'test.agent', messages: [script(turns)] });
  await settled(threads, thread_id);
  const execution = async () => (await world.temporal.workflow.getHandle(thread_id).describe()).runId;
  const before = await execution();
  const first = await threads.send(thread_id, { message: 'more' }, { mark });
  await settled(threads, thread_id);
  await until(async () => (await execution()) !== before, 'the thread to continue as new');
  expect(await threads.send(thread_id, { message: 'more' }, { mark })).toEqual(first);
  expect(told(await threads.get(thread_id, { reader: 'somebody else' }))).toHaveLength(4);
  expect(await threads.send(thread_id, { message: 'more' }, { mark })).toEqual(first);
  expect(told(await threads.get(thread_id, { reader: 'somebody' }))).toHaveLength(4);
  expect(await threads.send(thread_id, { message: 'more' }, { mark })).not.toEqual(first);
  expect(told(await settled(threads, thread_id)).slice(2)).toEqual([
    'user completed: more',
    'assistant completed: Answer 2.',
    'user completed: more',
    'assistant completed: Answer 3.',
  ]);
});

it('a mark or an acknowledgement of another shape is refused, or passed over', async () => {
  const { threads } = world.client;
  const { thread_id } = await threads.start({ agent_id: 'test.agent', messages: [script([{ text: 'Hello.' }])] });
  await settled(threads, thread_id);
  const bad = { by: 'somebody' } as never;
  await expect(threads.send(thread_id, { message: 'x' }, { mark: bad })).rejects.toMatchObject({
    code: 'invalid_request',
  });
  const handle = world.temporal.workflow.getHandle(thread_id);
  for (const given of [undefined, null, 7, { by: 'somebody' }, { by: 1, counter: 'x' }])
    await handle.signal('acknowledge', given);
  expect(told(await threads.get(thread_id))).toHaveLength(2);
});

it('a mark is good for its sender, its words and its time', () => {
  const unseen = { ...mark, at: 1_000, counter: 5 };
  expect(isRepeatOf(unseen, mark, 1_000 + REPEATS_WITHIN_MS - 1)).toBe(true);
  expect(isRepeatOf(unseen, mark, 1_000 + REPEATS_WITHIN_MS)).toBe(false);
  expect(isRepeatOf(unseen, { ...mark, by: 'other' }, 1_000)).toBe(false);
  expect(isRepeatOf(unseen, { ...mark, digest: 'other' }, 1_000)).toBe(false);
  expect(isNews([unseen], { by: 'somebody', counter: 5 })).toBe(true);
  expect(isNews([unseen], { by: 'somebody', counter: 4 })).toBe(false);
  expect(isNews([unseen], { by: 'other', counter: 5 })).toBe(false);
  expect(isNews([{ ...mark, at: 1_000 }], { by: 'somebody', counter: 5 })).toBe(false);
});
