/** Forks of a thread: the messages up to one, and a life of its own. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { READ_SETTINGS } from '../../contract/names.js';
import type { ThreadSettings } from '../../contract/thread-commands.js';
import { call, script } from '../support/test-agents.js';
import { createWorld } from '../support/world.js';
import type { World } from '../support/world.js';
import { settled, threadConfig, told } from './thread-world.js';

let world: World;
beforeAll(async () => {
  world = await createWorld(threadConfig());
});
afterAll(() => world.end());

it('a fork is a private thread of its own with the messages up to one, and the source is untouched', async () => {
  const { threads } = world.client;
  const { thread_id } = await threads.start({
    agent_id: 'test.agent',
    messages: [script([{ text: 'One.' }, { text: 'Two.' }, { text: 'Three.' }])],
    org_id: 'org_1',
    created_by: 'user_1',
    created_from_agent_id: 'agt_1',
  });
  await settled(threads, thread_id);
  await threads.send(thread_id, { message: 'more' });
  const source = await settled(threads, thread_id);
  expect(source).toMatchObject({ visibility: 'org', created_from_agent_id: 'agt_1' });
  const fork = await threads.fork(thread_id, { message_sequence_num: 1, created_by: 'user_2' });
  expect(fork).toMatchObject({
    status: 'user_turn',
    visibility: 'private',
    forked_from_thread_id: thread_id,
    forked_from_message_sequence_num: 1,
    created_from_agent_id: null,
    created_by: 'user_2',
    org_id: 'org_1',
  });
  expect(fork.messages).toEqual(source.messages.slice(0, 2));
  await threads.send(fork.thread_id, { message: 'other' });
  expect(told(await settled(threads, fork.thread_id)).slice(1)).toEqual([
    'assistant completed: One.',
    'user completed: other',
    'assistant completed: Two.',
  ]);
  expect(await threads.get(thread_id)).toEqual(source);
});

it('a fork between a tool use and its result can go on: the model is told that the result is lost', async () => {
  const { threads } = world.client;
  const { thread_id } = await threads.start({
    agent_id: 'test.agent',
    messages: [script([{ tool_calls: [call('tools.echo', { text: 'x' })] }, { text: 'Fine.' }])],
  });
  await settled(threads, thread_id);
  const fork = await threads.fork(thread_id, { message_sequence_num: 1 });
  await threads.send(fork.thread_id, { message: 'and?' });
  expect(told(await settled(threads, fork.thread_id)).at(-1)).toBe('assistant completed: Fine.');
});

it('a fork has the model profile that was asked for, and else again its agent’s', async () => {
  const { threads } = world.client;
  const forked = async (more: object) => {
    const messages = [script([{ text: 'One.' }])];
    const { thread_id } = await threads.start({ agent_id: 'test.agent', messages, ...more });
    const { model_profile } = await settled(threads, thread_id);
    const fork = await threads.fork(thread_id, { message_sequence_num: 1 });
    // Shown is the one that answers, in both.
    expect([model_profile, fork.model_profile]).toEqual(['script', 'script']);
    const handle = world.temporal.workflow.getHandle(fork.thread_id);
    return (await handle.query<ThreadSettings>(READ_SETTINGS)).model_profile;
  };
  expect(await forked({})).toBeNull();
  expect(await forked({ model_profile: 'script' })).toBe('script');
});

it('a message that is not there cannot be forked at', async () => {
  const { threads } = world.client;
  const { thread_id } = await threads.start({ agent_id: 'test.agent', messages: [script([{ text: 'One.' }])] });
  await settled(threads, thread_id);
  for (const n of [2, -1, 0.5])
    await expect(threads.fork(thread_id, { message_sequence_num: n })).rejects.toMatchObject({
      code: 'invalid_request',
    });
  await expect(threads.fork('thr_nowhere', { message_sequence_num: 0 })).rejects.toMatchObject({
    code: 'unknown_thread',
  });
});
