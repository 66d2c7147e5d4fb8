/**
 * Whatever waits for people writes nothing into its history, and what is shown of it meanwhile is right: runs that were
 * started by us, as the Temporal CLI does and by the Temporal CLI, trees with all that is below, and threads. Longer with
 * `npm run test:long`.
 */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { RUN_WORKFLOW, THREAD_WORKFLOW } from '../../contract/names.js';
import { findServerBinary } from '../../worker/server-binary.js';
import { script } from '../support/test-agents.js';
import { ask, child, treeConfig } from '../support/tree-agents.js';
import { createWorld, until } from '../support/world.js';
import type { World } from '../support/world.js';

const WAIT_MS = Number(process.env['PERDURE_TEST_WAIT_MS'] ?? 12_000);

let world: World;
beforeAll(async () => {
  world = await createWorld(treeConfig());
});
afterAll(() => world.end());

type Turns = Parameters<typeof script>[0];
const approve = { tool: 'test.guarded.always', args: { text: 'x' } };
const client_tools = [{ name: 'client_pick', description: 'Picks.', input_schema: { type: 'object' } }];
const pick = { tool: 'client.declared.client_pick', args: {} };

const start = async (turns: Turns, request = {}) =>
  (await world.client.runs.start({ agent_id: 'test.node', input: script(turns), ...request })).run_id;

async function startBare(turns: Turns): Promise<string> {
  const workflowId = `bare-${randomUUID()}`;
  const request = { agent_id: 'test.node', input: script(turns) };
  await world.temporal.workflow.start(RUN_WORKFLOW, {
    workflowId,
    taskQueue: world.server.taskQueue,
    args: [request],
  });
  return workflowId;
}

/** With the binary itself. */
async function startByCli(type: string, request: object): Promise<string> {
  const { path } = await findServerBinary({ env: process.env, report: () => {} });
  const workflowId = `cli-${randomUUID()}`;
  const where = ['--address', inject('temporalAddress'), '--task-queue', world.server.taskQueue];
  const what = ['--type', type, '--workflow-id', workflowId, '--input', JSON.stringify(request)];
  await promisify(execFile)(path, ['workflow', 'start', ...what, ...where]);
  return workflowId;
}

/** Both the thread that has answered and the one whose turn asks are their user's turn. */
async function theirTurn(threadId: string): Promise<string> {
  const isTheirs = async () => (await attributeOf(threadId, 'PerdureThreadStatus')) === 'user_turn';
  await until(isTheirs, `${threadId} to be its user's turn`);
  return threadId;
}

const requestOf = (turns: Turns) => ({ agent_id: 'test.node', messages: [script(turns)] });
const startThread = async (turns: Turns) => theirTurn((await world.client.threads.start(requestOf(turns))).thread_id);

const describeOf = (id: string) => world.temporal.workflow.getHandle(id).describe();
const attributeOf = async (id: string, name: string) => {
  const { typedSearchAttributes } = await describeOf(id);
  return typedSearchAttributes.getAll().find(({ key }) => key.name === name)?.value;
};

it(
  'adds no event while it waits, and shows what it waits for',
  async () => {
    const slow: Turns = [{ text: ['a ', 'moment'], delay_ms: 1_350, tool_calls: [approve] }, { text: 'ok' }];
    const low = child([{ tool_calls: [ask('Which?')] }, { text: 'low' }]);
    const deep: Turns = [{ tool_calls: [child([{ tool_calls: [low] }, { text: 'middle' }])] }, { text: 'top' }];
    const question: Turns = [{ tool_calls: [ask('Which?')] }, { text: 'ok' }];
    const waiting: Record<string, { id: string; kind: string }> = {
      question: { id: await start(question), kind: 'clarification' },
      'question, as by the Temporal CLI': { id: await startBare(question), kind: 'clarification' },
      approval: { id: await start([{ tool_calls: [approve] }]), kind: 'approval' },
      'approval after a slow model': { id: await start(slow), kind: 'approval' },
      'client tool': { id: await start([{ tool_calls: [pick] }], { client_tools }), kind: 'external_tools' },
      tree: { id: await start(deep), kind: 'clarification' },
      'tree, as by the Temporal CLI': { id: await startBare(deep), kind: 'clarification' },
      'tree, by the Temporal CLI': {
        id: await startByCli(RUN_WORKFLOW, { agent_id: 'test.node', input: script(deep) }),
        kind: 'clarification',
      },
      'with a time budget': {
        id: await start(question, { limits: { run: { time_budget: '5s' } } }),
        kind: 'clarification',
      },
    };
    for (const [what, { id, kind }] of Object.entries(waiting)) {
      await until(async () => (await attributeOf(id, 'PerdureWaiting')) === kind, `${what} to wait`);
      expect(await attributeOf(id, 'PerdurePhase'), what).toBe('executing_tools');
    }
    const thread = await startThread([{ text: 'hello' }]);
    const asking = await startThread(question);
    const byCli = await theirTurn(await startByCli(THREAD_WORKFLOW, requestOf([{ text: 'hello' }])));
    const askingByCli = await theirTurn(await startByCli(THREAD_WORKFLOW, requestOf(question)));
    const trees = Object.entries(waiting).filter(([what]) => what.startsWith('tree'));
    const quiet = {
      ...Object.fromEntries(Object.entries(waiting).map(([what, { id }]) => [what, id])),
      ...Object.fromEntries(trees.map(([what, { id }]) => [`${what}: its child`, `${id}/call_1_1`])),
      ...Object.fromEntries(trees.map(([what, { id }]) => [`${what}: its grandchild`, `${id}/call_1_1/call_1_1`])),
      thread,
      'thread that asks': asking,
      'its turn': `${asking}/turn_1`,
      'thread, by the Temporal CLI': byCli,
      'thread that asks, by the Temporal CLI': askingByCli,
      'the turn of that': `${askingByCli}/turn_1`,
    };
    const lengths = async () =>
      Object.fromEntries(
        await Promise.all(
          Object.entries(quiet).map(async ([what, id]) => [what, (await describeOf(id)).historyLength] as const),
        ),
      );
    // Let what is on its way arrive: a child tells its parent by signal.
    let before = await lengths();
    await until(async () => {
      const earlier = before;
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      before = await lengths();
      return JSON.stringify(earlier) === JSON.stringify(before);
    }, 'all to rest');
    await new Promise((resolve) => setTimeout(resolve, WAIT_MS));
    expect(await lengths()).toEqual(before);

    for (const id of [asking, askingByCli]) await world.client.threads.cancel(id);
    const { question: asked } = waiting;
    await world.client.runs.answerClarification(asked!.id, { await_id: 'clarification_call_1_1', answer: 'this' });
    await world.logOf(asked!.id);
    expect(await attributeOf(asked!.id, 'PerdureWaiting')).toBeUndefined();
    expect(await attributeOf(asked!.id, 'PerdurePhase')).toBe('completed');
    for (const { id } of Object.values(waiting)) await world.client.runs.cancel(id).catch(() => {});
  },
  WAIT_MS + 60_000,
);
