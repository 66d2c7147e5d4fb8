/** What a client tells the agent beside its messages: in what the model reads, and nowhere in the record. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TEXT_LIMITS } from '../../contract/sizes.js';
import { defineAgent } from '../../kit/index.js';
import { scripted } from '../../providers/index.js';
import { createWorld } from '../support/world.js';
import type { World } from '../support/world.js';
import { settled } from './thread-world.js';

const agent_id = 'test.reader';
const provider = scripted(() => ({ turns: Array.from({ length: 20 }, (_, n) => ({ text: `Answer ${n + 1}.` })) }));
let world: World;
beforeAll(async () => {
  world = await createWorld({
    models: { only: { provider, model: 'scripted-1' } },
    agents: [defineAgent({ agent_id, instructions: 'Read.' })],
    runtime: { continue_as_new_after_events: 30 },
  });
});
afterAll(() => world.end());

/** What the model was last told as its instructions, and the conversation after it. */
function lastRequest() {
  const [system, ...messages] = provider.calls.at(-1)?.messages ?? [];
  return { instructions: String(system?.content), messages };
}

async function say(threadId: string, message: Parameters<World['client']['threads']['send']>[1]) {
  await world.client.threads.send(threadId, message);
  await settled(world.client.threads, threadId);
  return lastRequest();
}

describe('what a client tells beside its messages', () => {
  it('is read by the model: the prompt and the scope in every turn, the context with its own message', async () => {
    const { threads } = world.client;
    const { thread_id } = await threads.start({
      agent_id,
      messages: ['hello'],
      system_prompt: 'Speak French.',
      analysis_scope: { dataset: 'ds_1' },
      client_context: { page: 'first' },
    });
    await settled(threads, thread_id);
    const first = lastRequest();
    expect(first.instructions).toMatch(/^Read\.\n\n# What the client of this conversation asks for\n\nSpeak French\./);
    expect(first.instructions).toContain('# Context from the client');
    expect(first.instructions).toContain('{"dataset":"ds_1"}');
    expect(first.instructions).toContain('{"page":"first"}');
    expect(first.messages).toEqual([{ role: 'user', content: 'hello' }]);

    const second = await say(thread_id, { message: 'more' });
    expect(second.instructions).toContain('Speak French.');
    expect(second.instructions).toContain('{"dataset":"ds_1"}');
    expect(second.instructions).not.toContain('page');

    const third = await say(thread_id, {
      message: 'there',
      analysis_scope: { dataset: 'ds_2' },
      client_context: { page: 'third' },
    });
    expect(third.instructions).toContain('{"dataset":"ds_2"}');
    expect(third.instructions).not.toContain('ds_1');
    expect(third.instructions).toContain('{"page":"third"}');
    expect(third.messages).toHaveLength(5);
    expect(JSON.stringify(await threads.get(thread_id))).not.toMatch(/ds_|page|French/);
  });

  it('stays over continue-as-new, and goes with a fork', async () => {
    const { threads } = world.client;
    const { thread_id } = await threads.start({
      agent_id,
      messages: ['hello'],
      system_prompt: 'Speak French.',
      analysis_scope: { dataset: 'ds_1' },
    });
    const handle = world.temporal.workflow.getHandle(thread_id);
    const { runId } = await handle.describe();
    await settled(threads, thread_id);
    await say(thread_id, { message: 'now here', analysis_scope: { dataset: 'ds_2' } });
    let told = lastRequest();
    for (let n = 0; (await handle.describe()).runId === runId && n < 10; n++)
      told = await say(thread_id, { message: 'on' });
    expect((await handle.describe()).runId).not.toBe(runId);
    told = await say(thread_id, { message: 'on' });
    expect(told.instructions).toContain('Speak French.');
    expect(told.instructions).toContain('{"dataset":"ds_2"}');

    const fork = await threads.fork(thread_id, { message_sequence_num: 1 });
    told = await say(fork.thread_id, { message: 'elsewhere' });
    expect(told.instructions).toContain('Speak French.');
    expect(told.instructions).toContain('{"dataset":"ds_2"}');
    expect(told.messages).toHaveLength(3);
  });

  it('of a message that waits is read with that message, not before', async () => {
    const { threads } = world.client;
    const { thread_id } = await threads.start({ agent_id, messages: ['hello'], analysis_scope: { dataset: 'ds_1' } });
    const page = (n: number) => ({ client_context: { page: n }, analysis_scope: { dataset: `ds_${n}` } });
    await threads.send(thread_id, { message: 'two', on_busy: 'enqueue', ...page(2) });
    await threads.send(thread_id, { message: 'three', on_busy: 'enqueue', ...page(3) });
    await settled(threads, thread_id);
    const told = provider.calls.slice(-3).map(({ messages }) => String(messages[0]?.content));
    expect(told.map((text) => [...text.matchAll(/ds_\d|"page":\d/g)].map(String))).toEqual([
      ['ds_1'],
      ['ds_2', '"page":2'],
      ['ds_3', '"page":3'],
    ]);
  });

  it('is refused where it is too large or no object, at the edge and by the thread itself', async () => {
    const { threads } = world.client;
    const large = { text: 'x'.repeat(TEXT_LIMITS.client_context) };
    for (const more of [{ analysis_scope: large }, { client_context: large }, { system_prompt: large.text + '!' }])
      await expect(threads.start({ agent_id, messages: ['hi'], ...more })).rejects.toMatchObject({
        code: 'input_too_large',
        message: expect.stringContaining(Object.keys(more)[0] ?? ''),
      });
    await expect(threads.start({ agent_id, client_context: {} })).rejects.toMatchObject({ code: 'invalid_request' });
    const { thread_id } = await threads.start({ agent_id });
    for (const more of [{ analysis_scope: large }, { client_context: large }])
      await expect(threads.send(thread_id, { message: 'hi', ...more })).rejects.toMatchObject({
        code: 'input_too_large',
      });
    const message = { role: 'user', content: [{ content_type: 'text', text: 'hi' }] };
    const handle = world.temporal.workflow.getHandle(thread_id);
    for (const more of [{ analysis_scope: large }, { client_context: 'x' }, { analysis_scope: [] }])
      await expect(handle.executeUpdate('send_message', { args: [{ message, ...more }] })).rejects.toMatchObject({
        cause: { type: 'invalid_request' },
      });
    expect((await threads.get(thread_id)).messages).toEqual([]);
  });
});
