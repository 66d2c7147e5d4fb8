/** Turns that ask something, with the published Python SDK as it is, both versions. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createOrgs, serveFor } from '../gateway/gateway-world.js';
import type { GatewayWorld, Orgs } from '../gateway/gateway-world.js';
import { PATIENT, THREAD_CATALOG } from '../gateway/threads/thread-gateway.js';
import { script } from '../support/test-agents.js';
import { ask, child, treeConfig } from '../support/tree-agents.js';
import { createWorld, until } from '../support/world.js';
import type { World } from '../support/world.js';
import { settled } from '../threads/thread-world.js';
import { runScenario } from './run-scenario.js';
import { INSTALL_TIMEOUT_MS, SDK_VERSIONS, sdkPython } from './sdk-environment.js';

let world: World;
let orgs: Orgs;
let gateway: GatewayWorld;

beforeAll(async () => {
  await Promise.all(SDK_VERSIONS.map(sdkPython));
  world = await createWorld(treeConfig());
  orgs = await createOrgs();
  const agents = [{ agent_id: 'test.node', model_profile: 'script', tools: [] }];
  gateway = await serveFor(world, orgs.auth, { limits: PATIENT, catalog: { ...THREAD_CATALOG, agents } });
}, INSTALL_TIMEOUT_MS);
afterAll(async () => {
  await gateway?.stop();
  await world?.end();
  await orgs?.remove();
});

const PATIENCE_MS = 180_000;

/** Each thread begins with other words than all before it: the same ones, not read yet, would be a repeat. */
const own = ([first, ...rest]: Parameters<typeof script>[0]) =>
  script([{ synthesis: randomUUID(), ...first }, ...rest]);

describe.each(SDK_VERSIONS)('with roboto %s', { timeout: PATIENCE_MS }, (version) => {
  it('one is asked, answers and gets the reply; approves a call; lists and searches', async () => {
    const title = randomUUID();
    const { thread_id } = await world.client.threads.start({
      agent_id: 'test.node',
      messages: [own([{ text: 'Hello.' }])],
      title: `About ${title}`,
      org_id: orgs.acme,
      created_by: 'ann',
    });
    await settled(world.client.threads, thread_id);
    const isListed = async () => {
      const { headers } = await world.client.threads.list({ created_by: 'ann' });
      return headers.some(({ record }) => record.thread_id === thread_id);
    };
    await until(isListed, 'the thread to be listed');
    const scripts = {
      asks: own([{ text: 'Let me see.', tool_calls: [ask('Which lake?')] }, { text: 'It is deep.' }]),
      'child asks': own([
        { tool_calls: [child([{ tool_calls: [ask('Which lake?')] }, { text: 'deep' }])] },
        { text: 'It is deep.' },
      ]),
      'wants leave': own([{ tool_calls: [{ tool: 'test.guarded.always', args: { text: 'x' } }] }, { text: 'Done.' }]),
    };
    const given = { scripts, title };
    const facts = await runScenario({ version, name: 'thread_pauses', url: gateway.url, token: orgs.ann, given });
    const fact = (name: string) => facts.find(({ said }) => said === name);

    const asked = { question: 'Which lake?', asked: 'user_turn', reply: 'It is deep.', status: 'user_turn' };
    expect(fact('asks')).toMatchObject({
      ...asked,
      told: [
        ['assistant', 'completed', 'Let me see.'],
        ['assistant', 'completed', 'Which lake?'],
        ['user', 'completed', 'Geneva'],
        ['roboto', 'completed', ''],
        ['assistant', 'completed', 'It is deep.'],
      ],
      held: 6,
    });
    const { pieces } = fact('asks') as unknown as { pieces: string[] };
    expect(pieces.join('')).toBe('Let me see.Which lake?');
    expect(fact('child asks')).toMatchObject({ ...asked, held: 6 });
    expect(fact('wants leave')).toMatchObject({
      asked: 'May this call be made?\n{"text":"x"}\ntest.guarded.always',
      words: { exception: 'RobotoConflictException', status: 409 },
      wrong: { exception: 'RobotoInvalidRequestException', status: 400 },
      reply: 'Done.',
      told: [
        ['assistant', 'completed', ''],
        ['assistant', 'completed', expect.stringContaining('May this call be made?')],
        ['roboto', 'completed', ''],
        ['assistant', 'completed', 'Done.'],
      ],
    });
    expect(fact('listed')).toMatchObject({ listed: true, found: 1, profile: 'script' });
  });
});
