/** Stored agents and feedback, with the published Python SDK as it is. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { recordsIn, withRecords } from '../support/records.js';
import { createOrgs, serveFor } from '../gateway/gateway-world.js';
import type { GatewayWorld, Orgs } from '../gateway/gateway-world.js';
import { PATIENT, THREAD_CATALOG } from '../gateway/threads/thread-gateway.js';
import { script, testConfig } from '../support/test-agents.js';
import { createWorld, until } from '../support/world.js';
import type { World } from '../support/world.js';
import { startFlakyProxy } from './flaky-proxy.js';
import { runScenario } from './run-scenario.js';
import type { Fact } from './run-scenario.js';
import { INSTALL_TIMEOUT_MS, SDK_VERSIONS, sdkPython } from './sdk-environment.js';

let world: World;
let orgs: Orgs;
let gateway: GatewayWorld;

beforeAll(async () => {
  await Promise.all(SDK_VERSIONS.map(sdkPython));
  const dataset_summary = {
    description: 'A summary of a dataset was written.',
    data: z.looseObject({ dataset_id: z.string() }),
    result: z.object({ text: z.string() }),
  };
  world = await createWorld({ ...testConfig(), goals: { dataset_summary } });
  orgs = await createOrgs();
  gateway = await serveFor(world, orgs.auth, { limits: PATIENT, catalog: THREAD_CATALOG });
}, INSTALL_TIMEOUT_MS);
afterAll(async () => {
  await gateway?.stop();
  await world?.end();
  await orgs?.remove();
});

const achieve = { tool: 'runtime.goals.achieve_dataset_summary', args: { text: 'Large.' } };
const refusedAs = (exception: string, status: number, words: string) => ({
  exception,
  status,
  message: expect.stringContaining(words),
});

function factsOf(all: readonly Fact[]): (said: string) => Fact {
  return (said) => {
    const found = all.find((fact) => fact.said === said);
    if (found === undefined) throw new Error(`the scenario did not say "${said}": ${JSON.stringify(all)}`);
    return found;
  };
}

describe.each(SDK_VERSIONS)('with roboto %s', (version) => {
  it('agents are created, found, listed over pages, changed, launched and deleted; feedback is given', async () => {
    const { agents, feedback, close } = await recordsIn(world.server.dataDir);
    onTestFinished(close);
    const message = { role: 'user', content: [{ content_type: 'text', text: 'hi' }] };
    const older = { description: null, request_template: { messages: [message] }, variables: [] };
    for (let n = 0; n < 60; n++) {
      await agents.create({ ...older, name: `${version} ${n}` }, { org_id: orgs.acme, user_id: 'ann' });
    }
    const before = (await agents.list(orgs.acme)).length;
    const name = `greeter / ${version} ${randomUUID()}`;
    const given = {
      org: orgs.acme,
      name,
      colleague: orgs.bob,
      stranger: orgs.gus,
      script: script([{ tool_calls: [achieve] }, { text: 'Hello, {{who}}.' }]),
    };
    const facts = await runScenario({ version, name: 'stored_agents', url: gateway.url, token: orgs.ann, given });
    const fact = factsOf(facts);

    const created = fact('created')['record'] as Record<string, unknown>;
    expect(created).toMatchObject({
      name,
      description: 'Greets.',
      org_id: orgs.acme,
      created_by: 'ann',
      modified_by: 'ann',
      request_template: { system_prompt: 'Be {{manner}}.', goals: [{ dataset_id: '{{dataset.id}}' }] },
      variables: [{ name: 'who', description: 'Whom to greet.' }, { type: 'dataset_id' }, { default: 'brief' }],
    });
    expect(fact('created again')['agent_id']).toBe(created['agent_id']);
    for (const said of ['by id', 'by name', 'by name, without an org']) expect(fact(said)['same'], said).toBe(true);
    expect(fact('listed')).toMatchObject({ count: before + 1, distinct: before + 1, first: created['agent_id'] });

    expect(fact('refused')).toMatchObject({
      conflict: refusedAs('RobotoConflictException', 409, name),
      mismatch: refusedAs('RobotoInvalidRequestException', 400, '{{manner}} is not among the variables'),
      foreign_org: refusedAs('RobotoUnauthorizedException', 401, 'not the org of your credential'),
      foreign_id: refusedAs('RobotoNotFoundException', 404, 'there is no stored agent'),
      foreign_name: refusedAs('RobotoNotFoundException', 404, 'there is no stored agent'),
      foreign_launch: refusedAs('RobotoNotFoundException', 404, 'there is no stored agent'),
      unknown: refusedAs('RobotoNotFoundException', 404, '"nobody"'),
      token: refusedAs('RobotoUnauthorizedException', 401, 'valid key or token'),
      missing: refusedAs('RobotoInvalidRequestException', 400, 'values.dataset.id: is missing'),
      superfluous: refusedAs('RobotoInvalidRequestException', 400, 'values.colour: is not a variable'),
    });

    const threadId = fact('launched')['thread_id'] as string;
    const thread = await world.client.threads.get(threadId);
    expect(thread).toMatchObject({
      visibility: 'org',
      created_by: 'ann',
      created_from_agent_id: created['agent_id'],
      status: 'user_turn',
      goals: [{ goal_type: 'dataset_summary', status: 'achieved', goal_data: { dataset_id: 'ds_1' } }],
    });
    expect(fact('answered')['text']).toContainEqual(expect.stringContaining('Hello, Ada.'));
    const secret = await world.client.threads.get(fact('launched in private')['thread_id'] as string);
    expect(secret).toMatchObject({ visibility: 'private', created_from_agent_id: created['agent_id'] });
    expect(facts.some(({ said }) => said === 'launched with a scope')).toBe(version !== '0.47.0');

    const { first, second, last } = fact('feedback') as unknown as Record<'first' | 'second', object> & {
      last: number;
    };
    expect(first).toMatchObject({
      sentiment: 'positive',
      categories: ['helpful'],
      created_by: 'ann',
      org_id: orgs.acme,
    });
    expect(second).toMatchObject({ sentiment: 'negative', categories: ['other'], notes: 'Too short.' });
    expect(await feedback.list(threadId)).toMatchObject([{ message_sequence_num: last, notes: 'Too short.' }]);
    expect(fact('feedback refused')).toMatchObject({
      out_of_range: refusedAs('RobotoNotFoundException', 404, 'no message 99'),
      of_a_user: refusedAs('RobotoInvalidRequestException', 400, '"user"'),
    });

    expect(fact('description cleared')['record']).toMatchObject({ description: null, name });
    expect(fact('renamed')['record']).toMatchObject({
      agent_id: created['agent_id'],
      name: `${name} renamed`,
      variables: created['variables'],
    });
    expect(fact('update refused')['mismatch']).toMatchObject({ exception: 'RobotoInvalidRequestException' });
    const gone = refusedAs('RobotoNotFoundException', 404, created['agent_id'] as string);
    expect(fact('deleted')).toMatchObject({ read: gone, update: gone, launch: gone, delete: gone });
  });

  it.each(['503', 'cut'] as const)(
    'a POST whose answer is lost (%s) and that it sends again is done once',
    async (fault) => {
      const proxy = await startFlakyProxy(gateway.url, fault);
      const given = { name: `once ${randomUUID()}`, script: script([{ text: 'Hello, {{who}}.' }]) };
      const scenario = { version, name: 'stored_agents_over_faults', url: proxy.url, token: orgs.gus, given };
      const before = await withRecords(
        world.server.dataDir,
        async ({ agents }) => (await agents.list(orgs.globex)).length,
      );
      const fact = factsOf(await runScenario(scenario));
      expect(fact('created')['count']).toBe(before + 1);
      // Each came twice: without that, nothing was shown.
      const counts = new Map<string, number>();
      for (const path of proxy.posts()) counts.set(path, (counts.get(path) ?? 0) + 1);
      expect([...counts.values()]).toEqual([2, 2, 2]);
      const launched = async () => {
        const { headers } = await world.client.threads.list({ org_id: orgs.globex, limit: 50 });
        const ours = headers.filter(({ record }) => record.created_from_agent_id === fact('created')['agent_id']);
        return ours.map(({ record }) => record.thread_id);
      };
      await until(async () => (await launched()).length > 0, 'the thread to be listed');
      expect(await launched()).toEqual([fact('launched')['thread_id']]);
    },
  );
});
