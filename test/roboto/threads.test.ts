/** Threads with the published Python SDK as it is, both versions. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { createOrgs, serveFor } from '../gateway/gateway-world.js';
import type { GatewayWorld, Orgs } from '../gateway/gateway-world.js';
import { PATIENT, THREAD_CATALOG } from '../gateway/threads/thread-gateway.js';
import { startGatewayProcess } from '../support/gateway-process.js';
import { call, script, testConfig } from '../support/test-agents.js';
import { treeConfig } from '../support/tree-agents.js';
import { createWorld, until } from '../support/world.js';
import type { World } from '../support/world.js';
import { settled, told } from '../threads/thread-world.js';
import { startFlakyProxy } from './flaky-proxy.js';
import { runScenario, startScenario } from './run-scenario.js';
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
    result: z.object({ summary: z.string() }),
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

/** Where a test waits for the SDK, whose retries wait by themselves. */
const PATIENCE_MS = 180_000;
const words = Array.from({ length: 12 }, (_, n) => `word${n} `);
const echo = call('tools.echo', { text: 'x' });
const look = { tool: 'client.declared.client_look', args: { at: 'Glarus' } };
const achieve = { tool: 'runtime.goals.achieve_dataset_summary', args: { summary: 'Large.' } };

/** Each thread begins with other words than all before it: the same ones, not read yet, would be a repeat. */
const own = ([first, ...rest]: Parameters<typeof script>[0]) =>
  script([{ synthesis: randomUUID(), ...first }, ...rest]);

function factsOf(all: readonly Fact[]): (said: string) => Fact {
  return (name) => {
    const found = all.find((fact) => fact.said === name);
    if (found === undefined) throw new Error(`the scenario did not say "${name}": ${JSON.stringify(all)}`);
    return found;
  };
}

describe.each(SDK_VERSIONS)('with roboto %s', { timeout: PATIENCE_MS }, (version) => {
  it('one talks, is read live, sends, forks, runs tools, sets goals and cancels', async () => {
    const scripts = {
      talk: own([{ text: words, delay_ms: 30 }, { text: 'Two.' }, { text: 'Three.' }]),
      tools: own([{ text: 'Looking.', tool_calls: [echo, look] }, { text: 'Seen.' }]),
      achieved: own([{ tool_calls: [achieve] }, { text: 'Done.' }]),
      failed: own([{ text: 'No.' }, { text: 'No!' }, { text: 'Never.' }, { text: 'Fine.' }]),
      stopped: own([{ text: ['Hm'], hang: true }]),
    };
    const given = { scripts, org: orgs.acme };
    const facts = await runScenario({ version, name: 'threads', url: gateway.url, token: orgs.ann, given });
    const fact = factsOf(facts);

    const { pieces, ...streamed } = fact('streamed');
    expect(streamed).toMatchObject({ begun: 'roboto_turn', status: 'user_turn', as_stored: true });
    expect((pieces as string[]).join('')).toBe(words.join(''));
    // Live: it came in several pieces.
    expect((pieces as string[]).length).toBeGreaterThan(1);

    const assistant = (text: string, ...others: unknown[]) => ['assistant', 'completed', text, others];
    const user = ['user', 'completed', '', []];
    expect(fact('sent')).toMatchObject({
      told: [user, assistant(words.join('')), user, assistant('Two.'), user, assistant('Three.')],
      as_stored: true,
      users: ['more', 'more'],
    });
    expect(fact('loaded later')).toMatchObject({ held: 0, as_stored: true });

    const forked = fact('forked');
    expect(forked).toMatchObject({ told: [user, assistant(words.join(''))], visibility: 'private' });
    expect(forked['thread_id']).not.toBe(forked['source']);
    expect(fact('fork answered')).toMatchObject({
      told: [user, assistant(words.join('')), user, assistant('Two.')],
      source: 6,
    });

    const tools = fact('tools');
    expect(tools).toMatchObject({ looked: ['Glarus'], as_stored: true, status: 'user_turn' });
    const [, asks, results, last] = tools['told'] as [
      unknown,
      unknown[],
      [string, string, string, object[]],
      unknown[],
    ];
    expect(asks).toMatchObject(
      assistant(
        'Looking.',
        expect.objectContaining({ tool_name: 'echo', input: { text: 'x' } }),
        expect.objectContaining({ tool_name: 'client_look', input: { at: 'Glarus' } }),
      ),
    );
    expect(results.slice(0, 3)).toEqual(['roboto', 'completed', '']);
    expect(results[3]).toHaveLength(2);
    expect(results[3]).toContainEqual(expect.objectContaining({ tool_name: 'client_look', status: 'success' }));
    expect(last).toEqual(assistant('Seen.'));

    expect(fact('achieved')['goals']).toMatchObject([
      { goal_type: 'dataset_summary', status: 'achieved', concluded_at: expect.any(String), message_sequence_num: 0 },
    ]);
    const achieved = version === '0.47.0' ? [] : [['Large.', { result: 'The goal is achieved.' }]];
    expect(fact('achieved')['results']).toEqual(achieved);
    expect(fact('achieved')['same']).toEqual({ goal_type: 'dataset_summary', dataset_id: 'ds_1' });
    const failed = fact('failed');
    expect(failed).toMatchObject({ status: 'goals_failed', goals: [{ status: 'failed' }] });
    expect(failed['thread_id']).toBe(failed['own']);
    expect(fact('went on')).toMatchObject({ status: 'user_turn', told: assistant('Fine.') });

    expect(fact('stopped')).toMatchObject({ errors: ['cancelled'], status: 'user_turn', as_stored: true });
    expect(fact('stopped')['told']).toMatchObject([
      user,
      ['assistant', 'cancelled', 'Hm', [{ content_type: 'error' }]],
    ]);
  });

  it('what is refused comes as the SDK’s own exceptions', async () => {
    const ours = { org_id: orgs.acme, created_by: 'ann', visibility: 'org' } as const;
    const messages = [own([{ text: 'Hello.' }])];
    const { thread_id: shared } = await world.client.threads.start({ agent_id: 'test.agent', messages, ...ours });
    await settled(world.client.threads, shared);
    const scripts = { stopped: own([{ text: ['Hm'], hang: true }]) };
    const given = { scripts, shared, colleague: orgs.bob, stranger: orgs.gus };
    const facts = await runScenario({ version, name: 'thread_refusals', url: gateway.url, token: orgs.ann, given });
    const as = (exception: string, status: number, words_: string) => ({
      exception,
      status,
      message: expect.stringContaining(words_),
    });
    const isOld = version === '0.47.0';
    expect(factsOf(facts)('refused')).toMatchObject({
      token: as('RobotoUnauthorizedException', 401, 'valid key or token'),
      unknown: as('RobotoNotFoundException', 404, 'there is no thread "thr_none"'),
      foreign: as('RobotoNotFoundException', 404, 'there is no thread'),
      private: as('RobotoNotFoundException', 404, 'there is no thread'),
      range: as('RobotoInvalidRequestException', 400, '2 finished messages'),
      profile: as('RobotoNotFoundException', 404, 'there is no model profile "none"'),
      busy: as('RobotoConflictException', 409, 'takes no message now'),
      // One that the older SDK has no name for yet: it goes by the status.
      read_only: isOld
        ? { exception: 'RobotoUnauthorizedException' }
        : as('RobotoThreadReadOnlyException', 403, 'you may only read it'),
    });
    expect(factsOf(facts)('fork of the shared one')['created_by_me']).toBe(true);
    if (isOld) return;
    expect(factsOf(facts)('newer calls')['visibility']).toMatchObject(
      as('RobotoInvalidRequestException', 400, 'was set to "org"'),
    );
    const { pins } = await world.client.threads.header(shared);
    expect(Object.keys(pins ?? {})).toHaveLength(1);
  });

  it.each(['503', 'cut'] as const)(
    'a POST whose answer is lost (%s), and that it repeats, is done once',
    async (fault) => {
      const proxy = await startFlakyProxy(gateway.url, fault);
      const given = { script: own([{ tool_calls: [look] }, { text: 'One.' }, { text: 'Two.' }, { text: 'Three.' }]) };
      const scenario = { version, name: 'threads_over_faults', url: proxy.url, token: orgs.ann, given };
      const done = factsOf(await runScenario(scenario))('done');
      const thread_id = done['thread_id'] as string;
      // Start, results, message and fork came twice, and the second message once: else nothing was shown.
      const counts = new Map<string, number>();
      for (const path of proxy.posts()) counts.set(path, (counts.get(path) ?? 0) + 1);
      const path = `/v1/ai/threads/${thread_id}`;
      expect(Object.fromEntries(counts)).toEqual({
        '/v1/ai/threads': 2,
        [`${path}/tool-results`]: 2,
        [`${path}/messages`]: 3,
        [`${path}/fork`]: 2,
      });
      expect(done).toMatchObject({ looked: ['Glarus'], status: 'user_turn' });
      expect(told(await world.client.threads.get(thread_id)).slice(1)).toEqual([
        'assistant completed: use turn_1_call_1_1',
        'roboto completed: success turn_1_call_1_1',
        'assistant completed: One.',
        'user completed: more',
        'assistant completed: Two.',
        'user completed: more',
        'assistant completed: Three.',
      ]);
      // Both have the title of their first words, and no other thread has.
      const begun = async () => {
        const { headers } = await world.client.threads.list({ org_id: orgs.acme, limit: 50 });
        const ours = headers.filter(({ title }) => given.script.startsWith((title ?? '').slice(0, -1)));
        return ours.map(({ record }) => record.thread_id).toSorted();
      };
      const both = [thread_id, done['fork'] as string].toSorted();
      await until(async () => (await begun()).length >= 2, 'both to be listed');
      expect(await begun()).toEqual(both);
    },
  );

  it('a gateway that is killed in the middle of an answer, and another one in its place, tell one story', async () => {
    const tree = await createWorld(treeConfig());
    try {
      const options = { server: tree.server, live: 'temporal' as const };
      const first = await startGatewayProcess(options);
      onTestFinished(first.kill);
      const long = Array.from({ length: 60 }, (_, n) => `word${n} `);
      const given = { script: own([{ text: long, delay_ms: 200 }]) };
      const scenario = await startScenario({
        version,
        name: 'thread_over_restarts',
        url: first.url,
        token: 'x',
        given,
      });
      const { thread_id } = await scenario.fact('speaks');
      await first.kill();
      scenario.tell('go on');
      const second = await startGatewayProcess({ ...options, port: Number(new URL(first.url).port) });
      onTestFinished(second.kill);
      const ended = factsOf(await scenario.end())('ended');
      expect(ended).toMatchObject({ status: 'user_turn', text: long.join('') });
      // The first before the end of the first gateway, the others from the second one.
      expect(ended['pieces']).toBeGreaterThan(1);
      const record = await tree.client.threads.get(thread_id as string);
      expect(record.messages[1]?.content).toEqual([{ content_type: 'text', text: long.join('') }]);
    } finally {
      await tree.end();
    }
  });
});
