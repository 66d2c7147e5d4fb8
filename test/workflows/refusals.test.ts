/** What a vendor says when it refuses, as readers get it: over a socket, in each vendor's own wire format. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { projectTranscript } from '../../contract/transcript.js';
import { defineAgent } from '../../kit/index.js';
import { VENDORS } from '../providers/vendors.js';
import { startWireServer } from '../providers/wire-server.js';
import type { WireServer } from '../providers/wire-server.js';
import { checkInvariants } from '../support/invariants.js';
import { script, testConfig } from '../support/test-agents.js';
import { collect, createWorld, durable, ofType } from '../support/world.js';
import type { World } from '../support/world.js';

let world: World;
const servers: WireServer[] = [];
beforeAll(async () => {
  const config = testConfig();
  const models = { ...config.models };
  const agents = [...(config.agents ?? [])];
  for (const vendor of VENDORS) {
    const server = await startWireServer(vendor.path);
    servers.push(server);
    server.reply(vendor.stream('refusal'));
    models[vendor.name] = { provider: vendor.connect(server.baseURL), model: vendor.model };
    agents.push(defineAgent({ agent_id: `test.${vendor.name}`, instructions: 'Be kind.', model: vendor.name }));
  }
  world = await createWorld({ ...config, models, agents });
});
afterAll(async () => {
  await world.end();
  await Promise.all(servers.map((server) => server.close()));
});

async function watch(agent_id: string, input: string) {
  const { run_id } = await world.client.runs.start({ agent_id, input });
  const seen = await collect(world.client.runs.stream(run_id));
  const shown = seen.flatMap((event) => (event.type === 'text_chunk' ? [event.text] : []));
  checkInvariants(seen);
  return { seen, shown };
}

it.each(VENDORS.map(({ name }) => name))('the refusal of %s comes in pieces, and is closed as one', async (name) => {
  const refusal =
    name === 'gemini' ? 'The model declined to answer (PROHIBITED_CONTENT).' : "I'm sorry, I can't help with that.";
  const { seen, shown } = await watch(`test.${name}`, 'Do harm.');
  expect(shown.join('')).toBe(refusal);
  expect(ofType(seen, 'text_end')).toMatchObject([{ text: refusal, refusal }]);
  expect(seen.at(-1)).toMatchObject({ status: 'success', answer: refusal });
  expect(projectTranscript(durable(seen)).at(-1)).toMatchObject({ role: 'assistant', content: null, refusal });
});

it('a refusal after a text is a block of its own', async () => {
  const { seen, shown } = await watch('test.agent', script([{ text: ['Well, '], refusal: 'I will not.' }]));
  expect(shown.join('')).toBe('Well, I will not.');
  const [said, refused] = ofType(seen, 'text_end');
  expect(said).toMatchObject({ text: 'Well, ', block_id: 'step_1.block_1' });
  expect(said).not.toHaveProperty('refusal');
  expect(refused).toMatchObject({ text: 'I will not.', refusal: 'I will not.', block_id: 'step_1.block_2' });
  expect(seen.at(-1)).toMatchObject({ answer: 'Well, I will not.' });
});

it('a reader sees it as it is said', async () => {
  const { shown } = await watch('test.agent', script([{ refusal: 'I will not do any of this.', delay_ms: 300 }]));
  // What had not been heard by then would be one piece, right before the end.
  expect(shown.length).toBeGreaterThan(2);
  expect(shown.join('')).toBe('I will not do any of this.');
});
