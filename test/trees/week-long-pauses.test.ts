/** Pauses of a week, on a server whose time can be skipped. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { RUN_WORKFLOW, THREAD_WORKFLOW } from '../../contract/names.js';
import type { AgentMessage } from '../../contract/thread-records.js';
import { script } from '../support/test-agents.js';
import { startTimeSkippingServer } from '../support/time-skipping-server.js';
import type { TimeSkippingServer } from '../support/time-skipping-server.js';
import { ask, child, treeConfig } from '../support/tree-agents.js';
import { results, treeLogs } from '../support/tree-logs.js';
import { createWorld, ofType, until } from '../support/world.js';
import type { World } from '../support/world.js';

type Turns = Parameters<typeof script>[0];
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

const start = async (agent_id: string, turns: Turns, request = {}) =>
  (await world.client.runs.start({ agent_id, input: script(turns, { text: 'in short' }), ...request })).run_id;
const describeRun = (runId: string) => world.temporal.workflow.getHandle(runId).describe();
const awaitsOf = async (runId: string) => (await world.client.runs.get(runId)).awaits;

/** A skip is a jump: the worker gets its turn in between. */
async function expectNothingWritten(ids: readonly string[], skips: readonly number[]): Promise<void> {
  const stand = async () =>
    Object.fromEntries(
      await Promise.all(
        ids.map(async (id) => {
          const { runId, historyLength, raw } = await describeRun(id);
          return [id, { runId, historyLength, task: raw.pendingWorkflowTask ?? null }] as const;
        }),
      ),
    );
  await until(async () => Object.values(await stand()).every(({ task }) => task === null), 'all to rest');
  const before = await stand();
  for (const skip of skips) {
    await server.skip(skip);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(await stand()).toEqual(before);
  }
}

/** As the Temporal CLI starts it: a type, an id, a queue and JSON. */
async function startBare(type: string, request: object): Promise<string> {
  const workflowId = `bare-${randomUUID()}`;
  await world.temporal.workflow.start(type, { workflowId, taskQueue: world.server.taskQueue, args: [request] });
  return workflowId;
}

/** The run and those below it, once as many wait for somebody. */
async function treeBelow(runId: string, depth: number): Promise<string[]> {
  await until(async () => (await awaitsOf(runId)).length === 1, 'the notice');
  const [notice] = await awaitsOf(runId);
  const ids = [runId];
  while (ids.at(-1) !== notice?.run_id) {
    const last = ids.at(-1) ?? '';
    ids.push(`${last}/${notice?.run_id.slice(last.length + 1).split('/')[0]}`);
  }
  expect(ids).toHaveLength(depth);
  return ids;
}

it('costs no time budget, writes nothing, and goes on with a short history', async () => {
  const run_id = await start('test.node', [{ tool_calls: [ask('Which?')] }, { text: 'ok' }], {
    limits: { run: { time_budget: '1m' } },
  });
  await until(async () => (await awaitsOf(run_id)).length === 1, 'the question');
  const first = await describeRun(run_id);
  await expectNothingWritten([run_id], [1_000, 5_000, 11 * 60_000, DAY, 6 * DAY]);
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
  await expectNothingWritten(await treeBelow(run_id, 3), [5_000, 7 * DAY]);
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
  await expectNothingWritten([run_id], [11 * 60_000, 2.9 * DAY]);
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

it('writes nothing either where the Temporal CLI started it, nor does a thread that is idle, or that waits', async () => {
  const question: Turns = [{ tool_calls: [ask('Which?')] }, { text: 'ok' }];
  const deep: Turns = [
    { tool_calls: [child([{ tool_calls: [child(question)] }, { text: 'middle' }])] },
    { text: 'top' },
  ];
  const run = await startBare(RUN_WORKFLOW, { agent_id: 'test.node', input: script(question) });
  const tree = await startBare(RUN_WORKFLOW, { agent_id: 'test.node', input: script(deep) });
  const { threads } = world.client;
  const request = (turns: Turns) => ({ agent_id: 'test.node', messages: [script(turns)] });
  const idle = (await threads.start(request([{ text: 'hello' }]))).thread_id;
  const bareIdle = await startBare(THREAD_WORKFLOW, request([{ text: 'hello' }]));
  const asking = (await threads.start(request(question))).thread_id;
  const bareAsking = await startBare(THREAD_WORKFLOW, request(question));
  await until(async () => (await awaitsOf(run)).length === 1, 'the question');
  for (const id of [idle, bareIdle])
    await until(async () => (await threads.header(id)).status === 'user_turn', 'the first answer');
  for (const id of [asking, bareAsking])
    await until(async () => (await threads.header(id)).pauses.length === 1, 'the thread to ask');
  const turns = [asking, bareAsking].map((id) => `${id}/turn_1`);
  const quiet = [run, ...(await treeBelow(tree, 3)), idle, bareIdle, asking, bareAsking, ...turns];
  await expectNothingWritten(quiet, [5_000, DAY, 6 * DAY]);
  for (const id of [asking, bareAsking]) {
    await threads.send(id, { message: 'this' });
    await until(async () => lastText(await threads.get(id)) === 'ok', 'the answer after a week');
  }
  for (const id of [run, tree]) await world.client.runs.cancel(id);
});

function lastText({ messages }: { messages: readonly AgentMessage[] }): string {
  return (
    messages
      .at(-1)
      ?.content.map((block) => ('text' in block ? block.text : ''))
      .join('') ?? ''
  );
}
