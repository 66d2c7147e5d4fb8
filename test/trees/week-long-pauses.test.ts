/** Pauses of a week, on a server whose time can be skipped. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { script } from '../support/test-agents.js';
import { startTimeSkippingServer } from '../support/time-skipping-server.js';
import type { TimeSkippingServer } from '../support/time-skipping-server.js';
import { ask, child, treeConfig } from '../support/tree-agents.js';
import { results, treeLogs } from '../support/tree-logs.js';
import { createWorld, ofType, until } from '../support/world.js';
import type { World } from '../support/world.js';

const DAY = 86_400_000;
let server: TimeSkippingServer;
let world: World;
beforeAll(async () => {
  server = await startTimeSkippingServer((line) => process.stderr.write(`${line}\n`));
  const patient = {
    agent_id: 'test.patient',
    instructions: 'Follow the script.',
    clarifications: true,
    await_expires_in: '3d',
  };
  world = await createWorld(treeConfig({}, { agents: () => [patient] }), { address: server.address });
}, 360_000);
afterAll(async () => {
  await world?.end();
  await server?.stop();
});

const start = async (agent_id: string, turns: Parameters<typeof script>[0], request = {}) =>
  (await world.client.runs.start({ agent_id, input: script(turns, { text: 'in short' }), ...request })).run_id;
const describeRun = (runId: string) => world.temporal.workflow.getHandle(runId).describe();
const awaitsOf = async (runId: string) => (await world.client.runs.get(runId)).awaits;

/** A skip is a jump: the worker gets its turn in between. */
async function expectNothingWritten(runId: string, skips: readonly number[]): Promise<void> {
  const before = await describeRun(runId);
  for (const skip of skips) {
    await server.skip(skip);
    await new Promise((resolve) => setTimeout(resolve, 200));
    const after = await describeRun(runId);
    expect([after.runId, after.historyLength]).toEqual([before.runId, before.historyLength]);
  }
}

it('costs no time budget, writes nothing, and goes on with a short history', async () => {
  const run_id = await start('test.node', [{ tool_calls: [ask('Which?')] }, { text: 'ok' }], {
    limits: { run: { time_budget: '1m' } },
  });
  await until(async () => (await awaitsOf(run_id)).length === 1, 'the question');
  const first = await describeRun(run_id);
  await expectNothingWritten(run_id, [1_000, 5_000, 11 * 60_000, DAY, 6 * DAY]);
  await world.client.runs.answerClarification(run_id, { await_id: 'clarification_call_1_1', answer: 'this' });
  const log = await world.logOf(run_id);
  expect(results(log)).toEqual(['this']);
  expect(ofType(log, 'budget_exceeded')).toEqual([]);
  const end = log.at(-1);
  expect(end).toMatchObject({ status: 'success', answer: 'ok' });
  expect(end?.type === 'run_completed' && end.duration_ms).toBeGreaterThanOrEqual(7 * DAY);
  const last = await describeRun(run_id);
  expect(last.runId).not.toBe(first.runId);
  expect(last.historyLength).toBeLessThan(20);
});

it('of a grandchild costs nothing on the way up to the root', async () => {
  const low = child([{ tool_calls: [ask('Which?')] }, { text: 'low' }]);
  const run_id = await start(
    'test.node',
    [{ tool_calls: [child([{ tool_calls: [low] }, { text: 'middle' }])] }, { text: 'top' }],
    {
      limits: { tree: { time_budget: '1m' } },
    },
  );
  await until(async () => (await awaitsOf(run_id)).length === 1, 'the notice');
  await expectNothingWritten(run_id, [5_000, 7 * DAY]);
  const [notice] = await awaitsOf(run_id);
  await world.client.runs.answerClarification(notice!.run_id, { await_id: notice!.await_id, answer: 'this' });
  const logs = await treeLogs(world.logOf, run_id);
  expect(logs.size).toBe(3);
  for (const log of logs.values()) {
    expect(log.at(-1)).toMatchObject({ status: 'success' });
    expect(ofType(log, 'budget_exceeded')).toEqual([]);
  }
});

it('expires after three days where the agent says so', async () => {
  const run_id = await start('test.patient', [{ tool_calls: [ask('Anyone?')] }, { text: 'nobody' }]);
  await until(async () => (await awaitsOf(run_id)).length === 1, 'the question');
  await expectNothingWritten(run_id, [11 * 60_000, 2.9 * DAY]);
  expect(await awaitsOf(run_id)).toHaveLength(1);
  await server.skip(0.2 * DAY);
  const log = await world.logOf(run_id);
  expect(results(log)).toEqual(['expired']);
  const [asked] = ofType(log, 'await_clarification');
  const [over] = ofType(log, 'await_resolved');
  expect(over).toMatchObject({ resolution: 'expired' });
  const waited = Date.parse(over!.at) - Date.parse(asked!.at);
  expect(waited).toBeGreaterThanOrEqual(3 * DAY);
  expect(waited).toBeLessThan(3.3 * DAY);
  expect(log.at(-1)).toMatchObject({ status: 'success', answer: 'nobody' });
});
