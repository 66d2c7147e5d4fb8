/** For whom a run works reaches every function of an application, in the run, in its children and in turns of threads. */
import { z } from 'zod';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { agentAsTool, defineAgent, defineTool, defineToolset } from '../../kit/index.js';
import type { ConfigOptions, RunContext } from '../../kit/index.js';
import { call, script, testConfig } from '../support/test-agents.js';
import { createWorld, ofType, until } from '../support/world.js';
import type { World } from '../support/world.js';
import { settled } from '../threads/thread-world.js';

type Told = Pick<RunContext, 'principal' | 'metadata'>;

/** Who was told what, in the order of the calls. */
const told: { function: string; run_id: string; told: Told }[] = [];

function note(name: string, { run, principal, metadata }: RunContext): void {
  told.push({ function: name, run_id: run.run_id, told: { principal, metadata } });
}

const input = z.object({});

const who = defineTool({
  tool_id: 'test.tools.who',
  description: 'Says for whom it works.',
  input,
  idempotent: true,
  approval(_, context) {
    note('approval', context);
    return false;
  },
  concurrency_key(_, context) {
    note('concurrency_key', context);
    return 'one';
  },
  run(_, context) {
    note('tool', context);
    return context.principal.org_id === 'acme' ? 'the order of acme' : 'there is no such order';
  },
});

const below = defineAgent({
  agent_id: 'test.below',
  description: 'Looks orders up.',
  instructions: 'Follow the script.',
  tools: [who],
});

const delegate = agentAsTool(below, {
  tool_id: 'test.agents.below',
  input: z.object({ script: z.string() }),
  prompt(given, context) {
    note('prompt', context);
    return given.script;
  },
  finalizer({ child, parent, principal, metadata }) {
    note('finalizer', { run: parent, principal, metadata });
    return child.answer;
  },
});

const found = defineToolset({
  toolset_id: 'test.found',
  open: () => ({
    discover(_signal, context) {
      note('discovery', context);
      return Promise.resolve([]);
    },
    bind() {
      throw new Error('there is no tool in it');
    },
    close: () => Promise.resolve(),
  }),
});

const planned = defineAgent({
  agent_id: 'test.planned',
  instructions: 'Plan.',
  planner(context) {
    note('planner', context);
    return { answer: 'planned' };
  },
});

function config(): ConfigOptions {
  const given = testConfig();
  const above = defineAgent({
    agent_id: 'test.above',
    instructions: 'Follow the script.',
    tools: [who, delegate, found],
  });
  return { ...given, agents: [...given.agents, above, below, planned] };
}

let world: World;
beforeAll(async () => {
  world = await createWorld(config());
});
afterAll(() => world.end());

const everything = [
  { tool_calls: [call('tools.who', {})] },
  {
    tool_calls: [
      { tool: 'test.agents.below', args: { script: script([{ tool_calls: [call('tools.who', {})] }, { text: 'x' }]) } },
    ],
  },
  { text: 'Done.' },
];
const ofAcme = { org_id: 'acme', created_by: 'ann', roles: ['member', 'support'], metadata: { locale: 'de' } };
const asTold: Told = {
  principal: { org_id: 'acme', user_id: 'ann', roles: ['member', 'support'] },
  metadata: { locale: 'de' },
};

describe('whoever a run works for', () => {
  it('is known to tools, rules, keys, prompts, finalizers and discovery, in the run and below it', async () => {
    const { run_id } = await world.client.runs.start({ agent_id: 'test.above', input: script(everything), ...ofAcme });
    const log = await world.logOf(run_id);
    expect(ofType(log, 'run_completed')).toMatchObject([{ status: 'success' }]);
    const own = told.filter((entry) => entry.run_id.split('/')[0] === run_id);
    const names = [...new Set(own.map((entry) => entry.function))].toSorted();
    expect(names).toEqual(['approval', 'concurrency_key', 'discovery', 'finalizer', 'prompt', 'tool']);
    expect(own.filter((entry) => entry.function === 'tool').map((entry) => entry.run_id)).toEqual([
      run_id,
      expect.stringContaining(`${run_id}/`),
    ]);
    for (const entry of own) expect(entry.told, entry.function).toEqual(asTold);
    expect(ofType(log, 'tool_result')[0]).toMatchObject({ content: 'the order of acme' });
  });

  it('is known to planners', async () => {
    const { run_id } = await world.client.runs.start({ agent_id: 'test.planned', input: 'x', ...ofAcme });
    await world.logOf(run_id);
    expect(told.filter((entry) => entry.run_id === run_id)).toEqual([{ function: 'planner', run_id, told: asTold }]);
  });

  it('is nobody where nobody was named', async () => {
    const { run_id } = await world.client.runs.start({ agent_id: 'test.above', input: script(everything) });
    const log = await world.logOf(run_id);
    expect(ofType(log, 'tool_result')[0]).toMatchObject({ content: 'there is no such order' });
    const own = told.filter((entry) => entry.run_id.split('/')[0] === run_id);
    for (const entry of own) expect(entry.told).toEqual({ principal: { roles: [] }, metadata: {} });
  });

  it('is, in each turn of a thread, whoever the thread was started for', async () => {
    const { threads } = world.client;
    const { thread_id } = await threads.start({ agent_id: 'test.above', messages: [script(everything)], ...ofAcme });
    await settled(threads, thread_id);
    await threads.send(thread_id, { message: script(everything) });
    await until(async () => (await threads.header(thread_id)).turn === undefined, 'the second turn');
    await settled(threads, thread_id);
    const turns = told.filter((entry) => entry.run_id.startsWith(`${thread_id}/turn_`));
    expect(new Set(turns.map((entry) => entry.run_id.split('/')[1]))).toEqual(new Set(['turn_1', 'turn_2']));
    for (const entry of turns) expect(entry.told, entry.run_id).toEqual(asTold);
  });

  it('is, in a fork, whoever forked it, with their roles, and with the metadata where that is the same', async () => {
    const { threads } = world.client;
    const { thread_id } = await threads.start({ agent_id: 'test.above', messages: [script(everything)], ...ofAcme });
    await settled(threads, thread_id);
    const bob = { created_by: 'bob', roles: ['member'] };
    const forks: [object, Told][] = [
      [{}, asTold],
      [
        { created_by: 'ann', roles: ['member'] },
        { ...asTold, principal: { ...asTold.principal, roles: ['member'] } },
      ],
      [bob, { principal: { org_id: 'acme', user_id: 'bob', roles: ['member'] }, metadata: {} }],
      [{ created_by: 'bob' }, { principal: { org_id: 'acme', user_id: 'bob', roles: [] }, metadata: {} }],
    ];
    for (const [options, expected] of forks) {
      const fork = await threads.fork(thread_id, { message_sequence_num: 0, ...options });
      await threads.send(fork.thread_id, { message: 'and?' });
      await settled(threads, fork.thread_id);
      const turns = told.filter((entry) => entry.run_id.startsWith(`${fork.thread_id}/turn_`));
      expect(turns.length).toBeGreaterThan(0);
      for (const entry of turns) expect(entry.told, JSON.stringify(options)).toEqual(expected);
    }
  });
});
