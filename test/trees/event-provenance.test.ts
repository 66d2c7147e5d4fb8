/** Events that follow from a call say which: a reader can put them beside it without keeping a table of its own. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ask, child, treeConfig } from '../support/tree-agents.js';
import { call, script } from '../support/test-agents.js';
import { threadConfig } from '../threads/thread-world.js';
import { collect, createWorld, ofType, until } from '../support/world.js';
import type { World } from '../support/world.js';

let world: World;
let goals: World;
beforeAll(async () => {
  [world, goals] = await Promise.all([createWorld(treeConfig()), createWorld(threadConfig())]);
});
afterAll(() => Promise.all([world.end(), goals.end()]));

const awaitsOf = async (runId: string) => (await world.client.runs.get(runId)).awaits;
const client_tools = [{ name: 'client_pick', description: 'Picks.', input_schema: { type: 'object' } }];
const pick = (n: number) => ({ tool: 'client.declared.client_pick', args: { n } });

it('await_external_tools and await_resolved: the calls that waited, their tool and their step', async () => {
  const input = script([
    { text: 'First.', tool_calls: [call('tools.echo', { text: 'x' })] },
    { tool_calls: [ask('Which?'), call('guarded.always', { text: 'y' }), pick(1)] },
    { tool_calls: [pick(2), pick(3)] },
    { text: 'done' },
  ]);
  const { run_id } = await world.client.runs.start({ agent_id: 'test.node', input, client_tools });
  await until(async () => (await awaitsOf(run_id)).length === 3, 'the pauses');
  for (const { await_id, kind, digest = '' } of await awaitsOf(run_id)) {
    const { runs } = world.client;
    if (kind === 'clarification') await runs.answerClarification(run_id, { await_id, answer: 'this' });
    else if (kind === 'approval') await runs.decideApproval(run_id, { await_id, decision: 'approve', digest });
    else
      await runs.submitToolResults(run_id, { results: [{ tool_call_id: 'call_2_3', status: 'success', output: 1 }] });
  }
  await until(async () => (await awaitsOf(run_id))[0]?.await_id === 'external_tools_step_3', 'the last pause');
  await world.client.runs.submitToolResults(run_id, {
    results: ['call_3_1', 'call_3_2'].map((tool_call_id) => ({ tool_call_id, status: 'success' as const, output: 1 })),
  });
  const log = await world.logOf(run_id);
  const listed = ofType(log, 'await_external_tools').map((event) => [
    event.step_id,
    event.tool_id,
    event.tool_call_id,
    event.calls.map(({ tool_call_id }) => tool_call_id),
  ]);
  expect(listed).toEqual([
    ['step_2', undefined, undefined, ['call_2_3']],
    ['step_3', undefined, undefined, ['call_3_1', 'call_3_2']],
  ]);
  const resolved = ofType(log, 'await_resolved').map((event) => [
    event.await_id,
    event.step_id,
    event.tool_id,
    event.tool_call_id,
  ]);
  expect(resolved.toSorted()).toEqual([
    ['approval_call_2_2', 'step_2', 'test.guarded.always', 'call_2_2'],
    ['clarification_call_2_1', 'step_2', 'runtime.user.ask_clarification', 'call_2_1'],
    ['external_tools_step_2', 'step_2', 'client.declared.client_pick', 'call_2_3'],
    // Of several calls: their step; the event that opened it lists them.
    ['external_tools_step_3', 'step_3', undefined, undefined],
  ]);
});

it('child_await_changed: the call whose run pauses, however deep below', async () => {
  const low = child([{ tool_calls: [ask('Which?')] }, { text: 'low' }]);
  const input = script([
    { text: 'First.', tool_calls: [call('tools.echo', { text: 'x' })] },
    { tool_calls: [call('tools.echo', { text: 'y' }), child([{ tool_calls: [low] }, { text: 'middle' }])] },
    { text: 'top' },
  ]);
  const { run_id } = await world.client.runs.start({ agent_id: 'test.node', input });
  await until(async () => (await awaitsOf(run_id)).length === 1, 'the notice');
  const [open] = await awaitsOf(run_id);
  await world.client.runs.answerClarification(open!.run_id, { await_id: open!.await_id, answer: 'this' });
  const changes = ofType(await collect(world.client.runs.stream(run_id)), 'child_await_changed');
  const ids = { step_id: 'step_2', tool_id: 'test.agents.node', tool_call_id: 'call_2_2' };
  expect(changes).toMatchObject([
    { ...ids, state: 'open', link: { run_id: `${run_id}/call_2_2/call_1_1` } },
    { ...ids, state: 'resolved' },
  ]);
});

it('child_await_changed: also where the child ended without a word', async () => {
  const input = script([{ tool_calls: [child([{ tool_calls: [ask('Which?')] }])] }, { text: 'top' }]);
  const { run_id } = await world.client.runs.start({ agent_id: 'test.node', input });
  await until(async () => (await awaitsOf(run_id)).length === 1, 'the notice');
  await world.temporal.workflow.getHandle(`${run_id}/call_1_1`).terminate('as a test');
  const log = await world.logOf(run_id);
  expect(ofType(log, 'child_await_changed')).toMatchObject([
    { state: 'open', tool_call_id: 'call_1_1', step_id: 'step_1' },
    { state: 'resolved', tool_call_id: 'call_1_1', step_id: 'step_1', tool_id: 'test.agents.node' },
  ]);
});

it('goal_achieved: the call that reached it', async () => {
  const achieve = (args: object) => ({ tool: 'runtime.goals.achieve_summary', args });
  const turns = [{ tool_calls: [achieve({})] }, { tool_calls: [achieve({ text: 'High.' })] }, { text: 'Done.' }];
  const log = await goals.run('test.agent', script(turns), {
    goals: [{ goal_type: 'summary', goal_data: { about: 'the Alps' } }],
  });
  expect(ofType(log, 'goal_achieved')).toMatchObject([
    { step_id: 'step_2', tool_id: 'runtime.goals.achieve_summary', tool_call_id: 'call_2_1' },
  ]);
});
