/** Answers that the vendor's limit cut, in a thread: what the model goes on with is one message. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { defineAgent } from '../../kit/index.js';
import { scripted, scriptFromInput } from '../../providers/index.js';
import { script } from '../support/test-agents.js';
import { createWorld } from '../support/world.js';
import type { World } from '../support/world.js';
import { contextOf, follow, told } from './thread-world.js';

let world: World;
beforeAll(async () => {
  const agent = (name: string, on_cut_answer: 'keep' | 'continue' | 'fail') =>
    defineAgent({ agent_id: `test.${name}`, instructions: 'Play the input.', on_cut_answer });
  world = await createWorld({
    models: { script: { provider: scripted(scriptFromInput), model: 'scripted-1' } },
    agents: [agent('keeps', 'keep'), agent('continues', 'continue'), agent('fails', 'fail')],
  });
});
afterAll(() => world.end());

const cut = (...text: string[]) => ({ text, stop_reason: 'max_tokens', delay_ms: 20 });

it('an answer that is continued is one message, from its first word on', async () => {
  const { threads } = world.client;
  const turns = [cut('One ', 'tw'), cut('o thr', 'e'), { text: ['e ', 'four.'], delay_ms: 20 }, { text: 'Again.' }];
  const begun = await threads.start({ agent_id: 'test.continues', messages: [script(turns)] });
  const reader = follow(threads, begun);
  const whole = 'One two three four.';
  while (reader.held().status === 'roboto_turn') {
    await reader.poll();
    const [, answer, ...more] = reader.held().messages;
    const [block] = answer?.content ?? [];
    const text = block?.content_type === 'text' ? block.text : '';
    expect([whole.startsWith(text), more]).toEqual([true, []]);
    if (answer?.status === 'completed') expect(text).toBe(whole);
  }
  expect(told(reader.held()).slice(1)).toEqual([`assistant completed: ${whole}`]);
  const { thread_id } = begun;
  expect((await threads.get(thread_id)).messages).toEqual(reader.held().messages);
  expect((await contextOf(world, thread_id)).slice(1)).toMatchObject([{ role: 'assistant', content: whole }]);
});

it.each([
  ['keeps', 'assistant completed: One tw'],
  ['fails', 'assistant failed: One tw | error model_answer_cut'],
])('of an agent that %s it, it is the message that it was', async (name, expected) => {
  const { threads } = world.client;
  const begun = await threads.start({ agent_id: `test.${name}`, messages: [script([cut('One tw')])] });
  const reader = follow(threads, begun);
  while (reader.held().status === 'roboto_turn') await reader.poll();
  expect(told(reader.held()).slice(1)).toEqual([expected]);
});
