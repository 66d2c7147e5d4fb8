/** What a thread begins with, and which tools it is told of, with the published Python SDK as it is, both versions. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createOrgs, serveFor } from '../gateway/gateway-world.js';
import type { GatewayWorld, Orgs } from '../gateway/gateway-world.js';
import { PATIENT, THREAD_CATALOG } from '../gateway/threads/thread-gateway.js';
import { script, testConfig } from '../support/test-agents.js';
import { createWorld } from '../support/world.js';
import type { World } from '../support/world.js';
import { contextOf } from '../threads/thread-world.js';
import { runScenario } from './run-scenario.js';
import { INSTALL_TIMEOUT_MS, SDK_VERSIONS, sdkPython } from './sdk-environment.js';

let world: World;
let orgs: Orgs;
let gateway: GatewayWorld;

beforeAll(async () => {
  await Promise.all(SDK_VERSIONS.map(sdkPython));
  world = await createWorld(testConfig());
  orgs = await createOrgs();
  gateway = await serveFor(world, orgs.auth, { limits: PATIENT, catalog: THREAD_CATALOG });
}, INSTALL_TIMEOUT_MS);
afterAll(async () => {
  await gateway?.stop();
  await world?.end();
  await orgs?.remove();
});

const PATIENCE_MS = 180_000;
const look = { tool: 'client.declared.client_look', args: { at: 'Glarus' } };
const sign = { tool: 'client.declared.client_sign', args: { paper: 'it' } };
const own = ([first, ...rest]: Parameters<typeof script>[0]) =>
  script([{ synthesis: randomUUID(), ...first }, ...rest]);

describe.each(SDK_VERSIONS)('with roboto %s', { timeout: PATIENCE_MS }, (version) => {
  it('a thread begins with a conversation that has calls; tools that are declared later join the others', async () => {
    const scripts = {
      // What the agent is said to have said elsewhere counts as its first words.
      seeded: own([{ text: 'Let me see.' }, { text: 'Seen.' }, { text: 'Again.' }]),
      declares: own([
        { tool_calls: [look] },
        { text: 'One.' },
        { tool_calls: [look, sign] },
        { text: 'Two.' },
        { tool_calls: [sign, look] },
        { text: 'Three.' },
      ]),
    };
    const facts = await runScenario({
      version,
      name: 'seeded_threads',
      url: gateway.url,
      token: orgs.ann,
      given: { scripts },
    });
    const fact = (said: string) => facts.find((each) => each.said === said);

    const [text, use, result] = ['AgentTextContent', 'AgentToolUseContent', 'AgentToolResultContent'];
    expect(fact('seeded')).toMatchObject({
      kinds: [[text], [text, text], [text, use], [result, text, text], [text]],
      use: { tool_name: 'client_look', tool_use_id: 'toolu_1', input: { at: 'Glarus' } },
    });
    // As models read it: texts apart, and the call with its result before the message that begins the turn.
    const name = 'client.declared.client_look';
    expect(await contextOf(world, String(fact('seeded')?.['thread_id']))).toMatchObject([
      { role: 'user', content: scripts.seeded },
      { role: 'user', content: 'Where?\n\nAnd when?' },
      {
        role: 'assistant',
        content: 'Let me see.',
        tool_calls: [{ id: 'toolu_1', function: { name, arguments: '{"at":"Glarus"}' } }],
      },
      { role: 'tool', tool_call_id: 'toolu_1', tool_name: name, content: '{"seen":"a hill"}' },
      { role: 'user', content: 'Go on.\n\nNow.' },
      { role: 'assistant', content: 'Seen.' },
    ]);
    const all = [[text], [text, text], [text, use], [result, text, text], [text], [text], [text]];
    expect(fact('again')?.['kinds']).toEqual(all);

    const looked = ['client_look', { seen: 'Glarus' }];
    const signed = ['client_sign', { result: 'signed' }];
    const results = (fact('declared')?.['results'] ?? []) as string[][];
    const byName = results.toSorted(([a = ''], [b = '']) => a.localeCompare(b));
    expect(byName).toEqual([looked, looked, looked, signed, signed]);
  });
});
