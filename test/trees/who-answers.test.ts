/** Who may answer a run is a rule of its agent's policy, and of its ancestors': the run itself keeps to it. */
import { z } from 'zod';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Principal } from '../../contract/principal.js';
import { agentAsTool, defineAgent, defineTool } from '../../kit/index.js';
import type { ConfigOptions } from '../../kit/index.js';
import { call, script, testConfig } from '../support/test-agents.js';
import { ask } from '../support/tree-agents.js';
import { createWorld, ofType, until } from '../support/world.js';
import type { World } from '../support/world.js';

const pay = defineTool({
  tool_id: 'test.tools.pay',
  description: 'Pays.',
  input: z.object({ sum: z.number() }),
  approval: 'always',
  run: ({ sum }) => `paid ${sum}`,
});
const agent = (agent_id: string, policy: Parameters<typeof defineAgent>[0]['policy'] = {}) =>
  defineAgent({
    agent_id,
    description: 'Pays.',
    instructions: 'Follow the script.',
    tools: [pay],
    clarifications: true,
    policy,
  });

const plain = agent('test.plain');
const financed = agent('test.financed', { approvals: ['role:finance'], answers: ['org'] });
const under = defineAgent({
  agent_id: 'test.above',
  instructions: 'Follow the script.',
  tools: [
    agentAsTool(financed, {
      tool_id: 'test.agents.below',
      input: z.object({ script: z.string() }),
      prompt: '{{script}}',
    }),
  ],
  policy: { approvals: ['role:finance', 'role:board'] },
});

const open = defineAgent({
  agent_id: 'test.open',
  instructions: 'Follow the script.',
  tools: [
    agentAsTool(plain, {
      tool_id: 'test.agents.plain',
      input: z.object({ script: z.string() }),
      prompt: '{{script}}',
    }),
  ],
  policy: { approvals: ['org'], answers: ['org'] },
});

function config(): ConfigOptions {
  const given = testConfig();
  return { ...given, agents: [...given.agents, plain, financed, under, open] };
}

let world: World;
beforeAll(async () => {
  world = await createWorld(config());
});
afterAll(() => world.end());

const person = (user_id: string, ...roles: string[]): Principal => ({ org_id: 'acme', user_id, roles });
const ANN = person('ann', 'member');
const BOB = person('bob', 'member');
const ADA = person('ada', 'admin');
const FAY = person('fay', 'member', 'finance');
const BEN = person('ben', 'member', 'board');
const GUS: Principal = { org_id: 'globex', user_id: 'ann', roles: ['admin', 'finance'] };
const NOBODY: Principal = { roles: [] };

async function paying(
  agent_id: string,
  input: string,
  more: object = {},
): Promise<{ run_id: string; await_id: string; digest: string }> {
  const { run_id } = await world.client.runs.start({ agent_id, input, org_id: 'acme', created_by: 'ann', ...more });
  const paused = async () => (await world.client.runs.get(run_id)).awaits[0];
  await until(async () => (await paused()) !== undefined, 'the pause');
  const { run_id: owner, await_id, digest = '' } = (await paused())!;
  const waiting = (await world.client.runs.get(owner)).awaits[0];
  return { run_id: owner, await_id, digest: waiting?.digest ?? digest };
}

describe('an approval', () => {
  it.each([
    ['test.plain', [BOB, FAY, GUS, NOBODY], ANN],
    ['test.plain', [BOB, FAY, GUS, NOBODY], ADA],
    ['test.financed', [ANN, BOB, ADA, GUS, NOBODY], FAY],
  ] as const)(
    'of %s is refused to whoever its rule does not name, and changes nothing',
    async (agentId, refused, taken) => {
      const turns = script([{ tool_calls: [call('tools.pay', { sum: 5 })] }, { text: 'Done.' }]);
      const { run_id, await_id, digest } = await paying(agentId, turns);
      const decide = (by: Principal) =>
        world.client.runs.decideApproval(run_id, {
          await_id,
          digest,
          decision: 'approve',
          by,
          answered_by: by.user_id ?? '',
        });
      const before = (await world.temporal.workflow.getHandle(run_id).describe()).historyLength;
      for (const by of refused) await expect(decide(by)).rejects.toMatchObject({ code: 'forbidden' });
      expect((await world.temporal.workflow.getHandle(run_id).describe()).historyLength).toBe(before);
      await decide(taken);
      const log = await world.logOf(run_id);
      expect(ofType(log, 'await_resolved')).toMatchObject([{ resolution: 'approved', answered_by: taken.user_id }]);
    },
  );

  it('below another agent takes one whom both name', async () => {
    const below = script([{ tool_calls: [call('tools.pay', { sum: 5 })] }, { text: 'Done.' }]);
    const turns = script([{ tool_calls: [{ tool: 'test.agents.below', args: { script: below } }] }, { text: 'Done.' }]);
    const { run_id, await_id, digest } = await paying('test.above', turns);
    expect(run_id).toContain('/');
    const decide = (by: Principal) =>
      world.client.runs.decideApproval(run_id, { await_id, digest, decision: 'deny', by });
    // The agent below names finance only, the one above finance and the board.
    for (const by of [ANN, ADA, BEN, GUS]) await expect(decide(by)).rejects.toMatchObject({ code: 'forbidden' });
    await decide(FAY);
    expect(ofType(await world.logOf(run_id), 'await_resolved')).toMatchObject([{ resolution: 'denied' }]);
  });

  it('of an agent that states no rule is its creator’s and admins’, whatever its request or its parent states', async () => {
    const pays = script([{ tool_calls: [call('tools.pay', { sum: 5 })] }, { text: 'Done.' }]);
    const below = script([{ tool_calls: [{ tool: 'test.agents.plain', args: { script: pays } }] }, { text: 'Done.' }]);
    const wide = { policy: { approvals: ['org'], answers: ['org'] } };
    const started = [await paying('test.plain', pays, wide), await paying('test.open', below)];
    for (const { run_id, await_id, digest } of started) {
      const decision = { await_id, digest, decision: 'deny' as const };
      for (const by of [BOB, FAY, GUS])
        await expect(world.client.runs.decideApproval(run_id, { ...decision, by })).rejects.toMatchObject({
          code: 'forbidden',
        });
      // Anyone can send a signal, and names somebody.
      await world.temporal.workflow.getHandle(run_id).signal('decide_approval', { ...decision, by: BOB });
      await world.client.runs.decideApproval(run_id, { ...decision, by: ANN });
      const log = await world.logOf(run_id);
      expect(ofType(log, 'answer_rejected')).toHaveLength(1);
      expect(ofType(log, 'await_resolved')).toMatchObject([{ resolution: 'denied' }]);
    }
    // A request that states something narrower is kept.
    const narrow = await paying('test.plain', pays, { policy: { approvals: ['role:finance'] } });
    const decide = (by: Principal) =>
      world.client.runs.decideApproval(narrow.run_id, { ...narrow, decision: 'deny', by });
    for (const by of [ANN, FAY, ADA]) await expect(decide(by)).rejects.toMatchObject({ code: 'forbidden' });
    await decide(person('ann', 'member', 'finance'));
  });

  it('as a signal is refused in the log, where somebody else gives it', async () => {
    const turns = script([{ tool_calls: [call('tools.pay', { sum: 5 })] }, { text: 'Done.' }]);
    const { run_id, await_id, digest } = await paying('test.plain', turns);
    const handle = world.temporal.workflow.getHandle(run_id);
    await handle.signal('decide_approval', { await_id, digest, decision: 'approve', by: BOB });
    await until(async () => (await world.client.runs.tail(run_id)) > 0, 'the log');
    await handle.signal('decide_approval', { await_id, digest, decision: 'deny', by: ANN });
    const log = await world.logOf(run_id);
    expect(ofType(log, 'answer_rejected')).toMatchObject([
      { reason: expect.stringContaining('"bob" is none of them') as string },
    ]);
    expect(ofType(log, 'await_resolved')).toMatchObject([{ resolution: 'denied' }]);
  });
});

describe('an answer', () => {
  it('is taken of any member where the rule says so, and of no stranger', async () => {
    const turns = script([{ tool_calls: [ask('Which?')] }, { text: 'Done.' }]);
    const { run_id, await_id } = await paying('test.financed', turns);
    const answer = (by: Principal) =>
      world.client.runs.answerClarification(run_id, { await_id, answer: 'this one', by });
    await expect(answer(GUS)).rejects.toMatchObject({ code: 'forbidden' });
    await answer(BOB);
    expect(ofType(await world.logOf(run_id), 'await_resolved')).toMatchObject([{ resolution: 'answered' }]);
  });

  it('of whoever speaks to Temporal itself names nobody, and is taken', async () => {
    const turns = script([{ tool_calls: [ask('Which?')] }, { text: 'Done.' }]);
    const { run_id, await_id } = await paying('test.plain', turns);
    await world.client.runs.answerClarification(run_id, { await_id, answer: 'this one' });
    expect(ofType(await world.logOf(run_id), 'await_resolved')).toMatchObject([{ resolution: 'answered' }]);
  });

  it('from somebody of no known form is refused', async () => {
    const turns = script([{ tool_calls: [ask('Which?')] }, { text: 'Done.' }]);
    const { run_id, await_id } = await paying('test.plain', turns);
    for (const by of [null, 'ann', {}, { roles: 'admin' }, { user_id: 5, roles: [] }]) {
      const answer = { await_id, answer: 'x', by: by as unknown as Principal };
      await expect(world.client.runs.answerClarification(run_id, answer)).rejects.toThrow(/by must be a principal/);
    }
    await world.client.runs.cancel(run_id);
    await world.logOf(run_id);
  });
});
