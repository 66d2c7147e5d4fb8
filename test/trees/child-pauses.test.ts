import { afterAll, beforeAll, expect, it } from 'vitest';
import { call, script } from '../support/test-agents.js';
import { ask, child, treeConfig } from '../support/tree-agents.js';
import { results, treeLogs } from '../support/tree-logs.js';
import { createWorld, ofType, until } from '../support/world.js';
import type { World } from '../support/world.js';

let world: World;
beforeAll(async () => {
  world = await createWorld(treeConfig());
});
afterAll(() => world.end());

const start = async (turns: Parameters<typeof script>[0], request = {}) =>
  (await world.client.runs.start({ agent_id: 'test.node', input: script(turns, { text: 'in short' }), ...request }))
    .run_id;
const awaitsOf = async (runId: string) => (await world.client.runs.get(runId)).awaits;

it('an approval two levels down is seen at the root, and answered by the run id that it names', async () => {
  const low = child([{ tool_calls: [call('guarded.always', { text: 'deep' })] }, { text: 'low' }]);
  const run_id = await start([{ tool_calls: [child([{ tool_calls: [low] }, { text: 'middle' }])] }, { text: 'top' }]);
  await until(async () => (await awaitsOf(run_id)).length === 1, 'the notice');
  const [notice] = await awaitsOf(run_id);
  const owner = `${run_id}/call_1_1/call_1_1`;
  expect(notice).toEqual({ await_id: 'approval_call_1_1', kind: 'approval', run_id: owner });
  const [open] = await awaitsOf(owner);
  expect(open).toMatchObject({ run_id: owner, calls: [{ name: 'test.guarded.always', arguments: '{"text":"deep"}' }] });
  await world.client.runs.decideApproval(notice!.run_id, {
    await_id: open!.await_id,
    decision: 'approve',
    digest: open!.digest!,
  });
  const logs = await treeLogs(world.logOf, run_id);
  expect(logs.size).toBe(3);
  for (const [id, log] of logs) {
    if (id === owner) continue;
    const link = { run_id: owner, agent_id: 'test.node', stream_key: `perdure.run.${owner}` };
    const [opened, resolved, ...none] = ofType(log, 'child_await_changed');
    expect(opened).toMatchObject({ link, await_id: 'approval_call_1_1', kind: 'approval', state: 'open' });
    expect(resolved).toMatchObject({ link, await_id: 'approval_call_1_1', kind: 'approval', state: 'resolved' });
    expect(none).toEqual([]);
    expect(ofType(log, 'agent_run_started')[0]!.seq).toBeLessThan(opened!.seq);
    expect(ofType(log, 'tool_result')[0]!.seq).toBeGreaterThan(resolved!.seq);
  }
  expect(results(logs.get(owner)!)).toEqual(['done: deep']);
});

it('a parent whose only open work is a paused descendant spends no time', async () => {
  const low = child([{ tool_calls: [ask('Which?')] }, { text: 'low' }]);
  const run_id = await start([{ tool_calls: [child([{ tool_calls: [low] }, { text: 'middle' }])] }, { text: 'top' }], {
    limits: { tree: { time_budget: '3s' } },
  });
  const owner = `${run_id}/call_1_1/call_1_1`;
  await until(async () => (await awaitsOf(run_id)).length === 1, 'the notice');
  await new Promise((resolve) => setTimeout(resolve, 4_000));
  await world.client.runs.answerClarification(owner, { await_id: 'clarification_call_1_1', answer: 'this' });
  const logs = await treeLogs(world.logOf, run_id);
  for (const log of logs.values()) {
    expect(log.at(-1)).toMatchObject({ status: 'success' });
    expect(ofType(log, 'budget_exceeded')).toEqual([]);
  }
});

it('a child that asks and works at once is not paused, until its work is done', async () => {
  const busy = child([{ tool_calls: [ask('Which?'), call('tools.locked', { key: 'k', ms: 60_000 })] }]);
  const spent = await start([{ tool_calls: [busy] }], { limits: { run: { time_budget: '1500ms' } } });
  const log = await world.logOf(spent);
  expect(results(log)).toEqual(['timeout']);
  expect(ofType(log, 'child_await_changed').map((event) => event.state)).toEqual(['open', 'resolved']);

  // Here the work ends first, and from then on the parent's clock stands.
  const soon = child([{ tool_calls: [ask('Which?'), call('tools.locked', { key: 'k', ms: 400 })] }, { text: 'low' }]);
  const waits = await start([{ tool_calls: [soon] }, { text: 'top' }], { limits: { run: { time_budget: '2500ms' } } });
  await until(async () => (await awaitsOf(waits)).length === 1, 'the notice');
  await new Promise((resolve) => setTimeout(resolve, 3_500));
  await world.client.runs.answerClarification(`${waits}/call_1_1`, {
    await_id: 'clarification_call_1_1',
    answer: 'this',
  });
  expect((await world.logOf(waits)).at(-1)).toMatchObject({ status: 'success', answer: 'top' });
});

it('a parent that works itself beside a paused child spends its time', async () => {
  const run_id = await start(
    [{ tool_calls: [child([{ tool_calls: [ask('Which?')] }]), call('tools.locked', { key: 'k', ms: 60_000 })] }],
    { limits: { run: { time_budget: '1500ms' } } },
  );
  const log = await world.logOf(run_id);
  expect(results(log)).toEqual(['timeout', 'timeout']);
  expect(log.at(-1)).toMatchObject({ status: 'success', answer: 'in short' });
  expect((await world.client.runs.get(run_id)).awaits).toEqual([]);
});

it('a paused child that is terminated is no longer shown as waiting', async () => {
  const run_id = await start([{ tool_calls: [child([{ tool_calls: [ask('Which?')] }])] }, { text: 'top' }]);
  await until(async () => (await awaitsOf(run_id)).length === 1, 'the notice');
  await world.temporal.workflow.getHandle(`${run_id}/call_1_1`).terminate('by hand');
  const log = await world.logOf(run_id);
  expect(results(log)).toEqual(['internal']);
  expect(ofType(log, 'child_await_changed').map((event) => event.state)).toEqual(['open', 'resolved']);
  expect(await awaitsOf(run_id)).toEqual([]);
});
