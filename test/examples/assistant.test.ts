/** The first example: what its scripted model makes of a message. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import config from '../../examples/assistant/perdure.config.js';
import { createWorld } from '../support/world.js';
import type { World } from '../support/world.js';

let world: World;
beforeAll(async () => {
  world = await createWorld(config.options);
});
afterAll(() => world.end());

async function answerTo(input: string): Promise<string> {
  const { run_id } = await world.client.runs.start({ agent_id: 'demo.assistant', input });
  const end = await world.client.runs.result(run_id);
  return end.status === 'success' ? end.answer : end.status;
}

const timeIn = (timeZone: string) =>
  new Date().toLocaleString('en-GB', { timeZone, dateStyle: 'full', timeStyle: 'short' });

it('answers what the README asks it, each figure in its place', async () => {
  const before = timeIn('America/Lima');
  const answer = await answerTo('What time is it in Lima, and what is 17 % of 2,450?');
  const clock = [before, timeIn('America/Lima')].filter((time) => answer.includes(time))[0] ?? before;
  expect(answer.split('\n')[0]).toBe(`In Lima it is ${clock}. 17 % of 2,450 is 416.5.`);
});

it('says what it can do where it is asked for neither', async () => {
  const answer = await answerTo('Hello there');
  expect(answer).toContain('I am a scripted model');
  expect(answer).toContain('{"words":2,"characters":11}');
  expect(answer).toContain('Ask me for the time in a city, or for a percentage');
});

it('answers each message of a thread from its own tools', async () => {
  const { threads } = world.client;
  const { thread_id } = await threads.start({ agent_id: 'demo.assistant', messages: ['What is 10 % of 70?'] });
  await threads.send(thread_id, { message: 'And 12.5 percent of 80?', on_busy: 'enqueue' });
  const answers: string[] = [];
  for await (const event of threads.stream(thread_id)) {
    if (event.type === 'run_completed' && event.status === 'success') answers.push(event.answer.split('\n')[0] ?? '');
    if (answers.length === 2) break;
  }
  expect(answers).toEqual(['10 % of 70 is 7.', '12.5 % of 80 is 10.']);
});
