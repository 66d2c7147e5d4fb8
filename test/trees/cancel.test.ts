import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DurableEvent } from '../../contract/events.js';
import { call, script } from '../support/test-agents.js';
import { ask, child, treeConfig } from '../support/tree-agents.js';
import { results, treeLogs } from '../support/tree-logs.js';
import { createWorld, ofType, phases, until } from '../support/world.js';
import type { World } from '../support/world.js';

let world: World;
beforeAll(async () => {
  world = await createWorld(treeConfig());
});
afterAll(() => world.end());

const statusOf = async (runId: string) => (await world.temporal.workflow.getHandle(runId).describe()).status.name;
const start = async (turns: Parameters<typeof script>[0], request = {}) =>
  (await world.client.runs.start({ agent_id: 'test.node', input: script(turns, { text: 'in short' }), ...request }))
    .run_id;
const endOf = (log: readonly DurableEvent[]) => Date.parse(log.at(-1)!.at);

const hanging = child([{ text: ['well'], hang: true }]);
const working = child([{ tool_calls: [call('tools.act', { do: 'hang' })] }]);

async function whenRunning(runIds: string[]): Promise<void> {
  for (const runId of runIds) {
    await until(async () => {
      const snapshot = await world.client.runs.get(runId).catch(() => undefined);
      return snapshot !== undefined && snapshot.steps.length > 0 && snapshot.phase !== 'prompted';
    }, `${runId} to run`);
  }
}

describe('cancel over a tree', () => {
  it('at the root, with grandchildren running: the ends come from below, every call is closed', async () => {
    const middle = child([{ tool_calls: [hanging, working, call('tools.act', { do: 'hang' })] }]);
    const run_id = await start([{ tool_calls: [middle, working] }]);
    const below = [
      `${run_id}/call_1_1`,
      `${run_id}/call_1_2`,
      `${run_id}/call_1_1/call_1_1`,
      `${run_id}/call_1_1/call_1_2`,
    ];
    await whenRunning(below);
    await world.client.runs.cancel(run_id, { note: 'enough' });
    const logs = await treeLogs(world.logOf, run_id);
    expect([...logs.keys()].sort()).toEqual([run_id, ...below].sort());
    for (const [id, log] of logs) {
      expect(log.at(-1)).toMatchObject({
        status: 'canceled',
        cancellation: { reason: id === run_id ? 'user_requested' : 'parent_canceled' },
      });
      expect(results(log).every((kind) => kind === 'canceled')).toBe(true);
      expect(results(log)).toHaveLength(ofType(log, 'tool_requested').length);
      for (const { link, tool_call_id } of ofType(log, 'agent_run_started')) {
        const result = ofType(log, 'tool_result').find((event) => event.tool_call_id === tool_call_id);
        expect(result?.link).toEqual(link);
        expect(endOf(logs.get(link.run_id)!)).toBeLessThanOrEqual(Date.parse(result!.at));
      }
    }
    await expect(world.temporal.workflow.getHandle(run_id).result()).rejects.toThrow();
    expect(await statusOf(run_id)).toBe('CANCELLED');
    for (const id of below) expect(await statusOf(id)).toBe('COMPLETED');
    expect(await world.temporal.workflow.getHandle(below[0]!).result()).toMatchObject({
      status: 'canceled',
      version: 1,
    });
  });

  it('a bare Temporal cancel of the root does the same', async () => {
    const run_id = await start([{ tool_calls: [hanging] }]);
    await whenRunning([`${run_id}/call_1_1`]);
    await world.temporal.workflow.getHandle(run_id).cancel();
    const logs = await treeLogs(world.logOf, run_id);
    expect([...logs.values()].map((log) => log.at(-1))).toMatchObject([
      { cancellation: { reason: 'user_requested' } },
      { cancellation: { reason: 'parent_canceled' } },
    ]);
  });

  it('a root that is terminated takes its children along, and they write their end', async () => {
    const run_id = await start([{ tool_calls: [hanging] }]);
    await whenRunning([`${run_id}/call_1_1`]);
    await world.temporal.workflow.getHandle(run_id).terminate('by hand');
    expect((await world.logOf(`${run_id}/call_1_1`)).at(-1)).toMatchObject({
      status: 'canceled',
      cancellation: { reason: 'parent_canceled' },
    });
  });

  it('the time budget of a parent stops a child that runs, and the parent sums up', async () => {
    const run_id = await start([{ tool_calls: [hanging, call('tools.echo', { text: 'x' })] }], {
      limits: { run: { time_budget: '1500ms' } },
    });
    const log = await world.logOf(run_id);
    expect(results(log)).toEqual(['timeout', 'x']);
    expect(ofType(log, 'budget_exceeded')).toMatchObject([{ scope: 'run', limit: 'time_budget', maximum: 1500 }]);
    expect(phases(log).slice(-2)).toEqual(['synthesizing', 'completed']);
    expect(log.at(-1)).toMatchObject({ status: 'success', answer: 'in short' });
    const below = await world.logOf(`${run_id}/call_1_1`);
    expect(below.at(-1)!.type).toBe('run_completed');
    expect(endOf(below)).toBeLessThanOrEqual(Date.parse(ofType(log, 'tool_result').at(-1)!.at));
  });

  it('during a pause: the pause is over as canceled, before the end', async () => {
    const run_id = await start([{ tool_calls: [ask('Which?'), child([{ tool_calls: [ask('And below?')] }])] }]);
    await until(async () => (await world.client.runs.get(run_id)).awaits.length === 2, 'both pauses');
    await world.client.runs.cancel(run_id);
    const logs = await treeLogs(world.logOf, run_id);
    expect(logs.size).toBe(2);
    for (const log of logs.values()) {
      expect(ofType(log, 'await_resolved')).toMatchObject([{ resolution: 'canceled' }]);
      expect(log.at(-1)).toMatchObject({ type: 'run_completed', status: 'canceled' });
    }
    const states = ofType(logs.get(run_id)!, 'child_await_changed').map((event) => event.state);
    expect(states).toEqual(['open', 'resolved']);
    expect((await world.client.runs.get(run_id)).awaits).toEqual([]);
  });

  it('before the children have begun: none is left behind', { timeout: 120_000 }, async () => {
    const ids = await Promise.all(
      Array.from({ length: 6 }, () => start([{ tool_calls: [hanging, hanging, working] }])),
    );
    await Promise.all(
      ids.map(async (run_id, n) => {
        await until(async () => {
          const snapshot = await world.client.runs.get(run_id);
          return (snapshot.steps[0]?.tools.length ?? 0) > 0;
        }, 'the calls');
        await new Promise((resolve) => setTimeout(resolve, n * 15));
        await world.client.runs.cancel(run_id);
      }),
    );
    for (const run_id of ids) {
      const logs = await treeLogs(world.logOf, run_id);
      for (const log of logs.values()) expect(log.at(-1)).toMatchObject({ type: 'run_completed', status: 'canceled' });
      expect(results(logs.get(run_id)!)).toEqual(['canceled', 'canceled', 'canceled']);
      for (const n of [1, 2, 3]) {
        const id = `${run_id}/call_1_${n}`;
        const status = await statusOf(id).catch(() => 'none');
        expect([logs.has(id), status]).toEqual(logs.has(id) ? [true, 'COMPLETED'] : [false, 'none']);
      }
    }
  });

  it(
    'while children are on their way to the server: each is canceled after it has started',
    { timeout: 180_000 },
    async () => {
      const run_id = await start([{ tool_calls: Array.from({ length: 40 }, () => hanging) }]);
      const handle = world.temporal.workflow.getHandle(run_id);
      const history = async () => (await handle.fetchHistory()).events ?? [];
      await until(
        async () => (await history()).some((event) => event.startChildWorkflowExecutionInitiatedEventAttributes),
        'the starts',
      );
      await handle.signal('cancel', {});
      const log = await world.logOf(run_id);
      expect(log.at(-1)).toMatchObject({ type: 'run_completed', status: 'canceled' });
      expect(results(log)).toEqual(Array.from({ length: 40 }, () => 'canceled'));
      // A cancel that overtakes the start is lost: the child would run on, and its parent wait for it.
      const started = new Set<string>();
      for (const event of await history()) {
        const start = event.childWorkflowExecutionStartedEventAttributes?.workflowExecution?.workflowId;
        if (start) started.add(start);
        const cancel =
          event.requestCancelExternalWorkflowExecutionInitiatedEventAttributes?.workflowExecution?.workflowId;
        if (cancel) expect(started, `started before the cancel of ${cancel}`).toContain(cancel);
      }
    },
  );
});
