/** Client tools beside questions and approvals, with the published Python SDK as it is, both versions. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createOrgs, serveFor } from '../gateway/gateway-world.js';
import type { GatewayWorld, Orgs } from '../gateway/gateway-world.js';
import { PATIENT, THREAD_CATALOG } from '../gateway/threads/thread-gateway.js';
import { call, script } from '../support/test-agents.js';
import { ask, child, treeConfig } from '../support/tree-agents.js';
import { createWorld } from '../support/world.js';
import type { World } from '../support/world.js';
import { runScenario } from './run-scenario.js';
import { INSTALL_TIMEOUT_MS, SDK_VERSIONS, sdkPython } from './sdk-environment.js';

let world: World;
let orgs: Orgs;
let gateway: GatewayWorld;

beforeAll(async () => {
  await Promise.all(SDK_VERSIONS.map(sdkPython));
  const policy = { allow: 'all' as const, approve: ['client.declared.client_sign'] };
  world = await createWorld(treeConfig({}, { root: { policy } }));
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
const look = { tool: 'client.declared.client_look', args: { at: 'Glarus' } };
const sign = { tool: 'client.declared.client_sign', args: { paper: 'it' } };
const guarded = { tool: 'test.guarded.always', args: { text: 'x' } };
const echo = call('tools.echo', { text: 'x' });

/** Each thread begins with other words than all before it: the same ones, not read yet, would be a repeat. */
const playing = (tool_calls: object[], text: string) =>
  script([{ synthesis: randomUUID(), tool_calls } as Parameters<typeof script>[0][0], { text }]);

describe.each(SDK_VERSIONS)('with roboto %s', { timeout: PATIENCE_MS }, (version) => {
  it('each tool is run once, and what is asked is there when it is the user’s turn', async () => {
    const question = ask('Which lake?');
    const cases = {
      'a question': { script: playing([question, look], 'It is deep.'), steps: ['Geneva'] },
      'a question of a child': {
        script: playing([child([{ tool_calls: [question] }, { text: 'deep' }]), look], 'It is deep.'),
        steps: ['Geneva'],
      },
      'an approval': { script: playing([guarded, look, echo], 'Done.'), steps: ['approve'] },
      'a tool that wants leave': { script: playing([sign], 'Signed.'), steps: ['approve'] },
      'a question and a tool that wants leave': {
        script: playing([question, sign, look], 'Both.'),
        steps: ['approve', 'Geneva'],
      },
    };
    const given = { cases };
    const name = 'client_tools_beside_pauses';
    const facts = await runScenario({ version, name, url: gateway.url, token: orgs.ann, given });
    const fact = (said: string) => facts.find((each) => each.said === said);
    const end = (words: string) => expect.objectContaining({ status: 'user_turn', words });

    for (const asking of ['a question', 'a question of a child'])
      expect(fact(asking)).toMatchObject({
        seen: [
          { status: 'user_turn', words: 'Which lake?', ran: ['look Glarus'], asked: ['clarification'] },
          end('It is deep.'),
        ],
        as_stored: true,
      });
    expect(fact('an approval')).toMatchObject({
      seen: [{ status: 'user_turn', ran: ['look Glarus'], asked: ['approval'] }, end('Done.')],
      as_stored: true,
    });
    expect(fact('a tool that wants leave')).toMatchObject({
      seen: [
        { status: 'user_turn', words: expect.stringContaining('May this call be made?'), ran: [] },
        { status: 'user_turn', words: 'Signed.', ran: ['sign it'] },
      ],
      as_stored: true,
    });
    expect(fact('a question and a tool that wants leave')).toMatchObject({
      seen: [
        // The SDK would run both: it is not its turn before it may.
        { status: 'user_turn', words: expect.stringContaining('May this call be made?'), ran: [], asked: ['approval'] },
        {
          status: 'user_turn',
          words: 'Which lake?',
          ran: ['sign it', 'look Glarus'],
          asked: ['approval', 'clarification'],
        },
        end('Both.'),
      ],
      as_stored: true,
    });

    // What tools gave is theirs, as objects.
    expect(fact('a question')?.['results']).toEqual([
      ['client_look', { seen: 'Glarus' }],
      ['ask_clarification', { result: 'Geneva' }],
    ]);
    expect(fact('an approval')?.['results']).toHaveLength(3);
    expect(fact('an approval')?.['results']).toContainEqual(['echo', { result: 'x' }]);
    expect(fact('a question')?.['outputs']).toContainEqual(['client_look', true, { seen: 'Glarus' }]);
    expect(fact('a tool that wants leave')?.['outputs']).toEqual([['client_sign', true, { result: 'signed' }]]);
  });
});
