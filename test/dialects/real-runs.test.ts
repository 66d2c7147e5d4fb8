/** Real runs on the real server, watched live: what the dialects say of them is what the log says. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { StreamEvent } from '../../client/index.js';
import { call, script, testConfig } from '../support/test-agents.js';
import { createWorld } from '../support/world.js';
import type { World } from '../support/world.js';
import { createReading, textsOf } from './reading.js';
import { isDurable, readAndResume } from './resume.js';
import { dialectNames } from './tell-all.js';

let world: World;
beforeAll(async () => {
  world = await createWorld(testConfig({ model_max_attempts: 3 }));
});
afterAll(() => world.end());

it('a retried call, a tool and an answer that looks like an entry, at every point where a reader may leave', async () => {
  const input = script([
    {
      thinking: ['Let ', 'me ', 'see. '],
      text: ['I ', 'will ', 'echo 🙂. '],
      tool_calls: [call('tools.echo', { text: 'hello' })],
      attempts: [{ fail: { code: 'model_stream_cut', after_deltas: 4 } }, {}],
    },
    { text: ['✅ ', 'All ', 'is done. ', 'Accessing memory...'], delay_ms: 2 },
  ]);
  const { run_id } = await world.client.runs.start({ agent_id: 'test.agent', input });
  const stream: StreamEvent[] = [];
  for await (const event of world.client.runs.stream(run_id)) stream.push(event);
  // Without deltas of an attempt that was given up, this would prove nothing.
  expect(stream.some((event) => event.type === 'text_chunk' && event.attempt === 1)).toBe(true);
  expect(stream.some((event) => event.type === 'attempt_retracted')).toBe(true);
  const { text, thinking } = textsOf(stream.filter(isDurable));
  expect(text).toContain('✅ All is done. Accessing memory...');
  for (const name of dialectNames) {
    if (name === 'perdure') continue;
    for (let left = 0; left <= stream.length; left++) {
      const reading = createReading(name);
      for (const { event, said } of readAndResume(name, stream, left, left)) reading.read(event, said);
      expect(reading.text(), `${name}, resumed after ${left}`).toBe(text);
      if (name !== 'task_steps') expect(reading.thinking(), `${name}, resumed after ${left}`).toBe(thinking);
    }
  }
});
