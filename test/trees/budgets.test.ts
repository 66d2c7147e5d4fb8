/** Leases: what they are, and that they come back. Random trees are in `budget-bounds.test.ts`. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DurableEvent } from '../../contract/events.js';
import { call, script } from '../support/test-agents.js';
import { child, treeConfig } from '../support/tree-agents.js';
import { results, treeLogs } from '../support/tree-logs.js';
import { createWorld, ofType, until } from '../support/world.js';
import type { World } from '../support/world.js';

let world: World;
beforeAll(async () => {
  world = await createWorld(
    treeConfig(
      { model_max_attempts: 3 },
      { model: { price: { input: 1, output: 4, cached_input: 0.5 }, max_output_tokens: 500 } },
    ),
  );
});
afterAll(() => world.end());

const usage = { input_tokens: 1000, output_tokens: 100 };
const echo = (n: number) => Array.from({ length: n }, () => call('tools.echo', { text: 'x' }));
const run = (turns: Parameters<typeof script>[0], tree: object) =>
  world.run('test.node', script(turns, { text: 'in short', usage }), { limits: { tree } });
const endOf = (log: readonly DurableEvent[]) => {
  const end = log.at(-1);
  if (end?.type !== 'run_completed') throw new Error('the run has not ended');
  return end;
};

describe('counts', () => {
  it('what a child leaves unspent comes back, and can be spent by the next one', async () => {
    const one = child([{ tool_calls: echo(2) }, { text: 'a' }]);
    // 10: the call of the child, its lease of 4 of 9, of which it spends 2; 7 are left.
    const log = await run([{ tool_calls: [one] }, { tool_calls: echo(7) }, { text: 'all spent' }], {
      max_tool_calls: 10,
    });
    expect(endOf(log)).toMatchObject({ status: 'success', answer: 'all spent', tree_usage: { tool_calls: 10 } });
    const more = await run([{ tool_calls: [one] }, { tool_calls: echo(8) }, { text: 'too much' }], {
      max_tool_calls: 10,
    });
    expect(ofType(more, 'budget_exceeded')).toMatchObject([
      { scope: 'tree', limit: 'max_tool_calls', maximum: 10, used: 3, requested: 8 },
    ]);
    expect(endOf(more)).toMatchObject({ status: 'success', answer: 'in short', tree_usage: { tool_calls: 3 } });
  });

  it('children in parallel cannot overspend together', async () => {
    const greedy = () => child([{ tool_calls: echo(3) }, { text: 'got them' }], 'node', { text: 'got none', usage });
    const log = await run([{ tool_calls: [greedy(), greedy(), greedy()] }, { text: 'ok' }], { max_tool_calls: 12 });
    // 9 are left for three children and the run itself: 2 each.
    expect(results(log)).toEqual(['got none', 'got none', 'got none']);
    for (const [, below] of [...(await treeLogs(world.logOf, log[0]!.run_id))].slice(1)) {
      expect(ofType(below, 'budget_exceeded')).toMatchObject([
        { scope: 'tree', limit: 'max_tool_calls', maximum: 2, requested: 3 },
      ]);
    }
    expect(endOf(log)).toMatchObject({ tree_usage: { tool_calls: 3, children: 3 } });
  });

  it('a batch whose children could not make a single step is refused whole', async () => {
    const two = [child([{ text: 'a' }]), child([{ text: 'b' }])];
    const log = await run([{ tool_calls: two }, { text: 'ok' }], { max_steps: 2 });
    expect(results(log)).toEqual(['capped', 'capped']);
    expect(ofType(log, 'budget_exceeded')).toMatchObject([
      { scope: 'tree', limit: 'max_steps', maximum: 2, used: 1, requested: 2 },
    ]);
    const enough = await run([{ tool_calls: two }, { text: 'ok' }], { max_steps: 3 });
    expect(results(enough)).toEqual(['a', 'b']);
    expect(endOf(enough)).toMatchObject({ answer: 'in short', tree_usage: { steps: 3 } });
  });

  it('max_consecutive_failed_tool_calls of a tree holds for each of its runs', async () => {
    const failing = { tool_calls: [call('tools.act', { do: 'refuse' })] };
    const below = child([failing, failing, failing, { text: 'never' }], 'node', { text: 'gave up', usage });
    const log = await run([{ tool_calls: [below] }, { text: 'ok' }], { max_consecutive_failed_tool_calls: 2 });
    expect(results(log)).toEqual(['gave up']);
  });

  it('a canceled child settles at what it spent', async () => {
    const hanging = child([{ tool_calls: echo(2) }, { text: ['well'], hang: true }]);
    const { run_id } = await world.client.runs.start({
      agent_id: 'test.node',
      input: script([{ tool_calls: [hanging] }, { tool_calls: echo(7) }, { text: 'ok' }], { text: 'in short' }),
      limits: { tree: { max_tool_calls: 10 } },
    });
    const childId = `${run_id}/call_1_1`;
    await until(
      async () => (await world.client.runs.get(childId).catch(() => undefined))?.steps.length === 2,
      'the second step',
    );
    await world.client.runs.cancel(childId);
    expect(endOf(await world.logOf(run_id))).toMatchObject({
      status: 'success',
      answer: 'ok',
      tree_usage: { tool_calls: 10 },
    });
  });
});

describe('tokens and cost', () => {
  it('are counted by the price table, for the run and for its tree', async () => {
    const log = await run(
      [
        { tool_calls: [child([{ text: 'a', usage }])], usage },
        { text: 'ok', usage },
      ],
      {},
    );
    const each = 1000 / 1e6 + (100 * 4) / 1e6;
    expect(endOf(log).usage).toMatchObject({ total_tokens: 2200, model_calls: 2 });
    expect(endOf(log).usage.cost_usd).toBeCloseTo(2 * each, 10);
    expect(endOf(log).tree_usage).toMatchObject({ total_tokens: 3300, model_calls: 3, input_tokens: 3000 });
    expect(endOf(log).tree_usage.cost_usd).toBeCloseTo(3 * each, 10);
  });

  it('a call is made only if it fits, and the synthesis pass after it', async () => {
    const turns = Array.from({ length: 20 }, () => ({ tool_calls: echo(1), usage }));
    const log = await run(turns, { max_tokens: 12_000 });
    const [exceeded] = ofType(log, 'budget_exceeded');
    expect(exceeded).toMatchObject({ scope: 'tree', limit: 'max_tokens', maximum: 12_000 });
    expect(exceeded!.used + (exceeded!.requested ?? 0)).toBeGreaterThan(12_000);
    expect(endOf(log)).toMatchObject({ status: 'success', answer: 'in short' });
    expect(endOf(log).tree_usage.total_tokens).toBeLessThanOrEqual(12_000);
    expect(ofType(log, 'step_started').length).toBeGreaterThan(3);
  });

  it('attempts that report no usage are charged in full, and there are no more than fit', async () => {
    const failing = { attempts: [{ fail: { code: 'model_server_error' as const } }, { text: 'at last', usage }] };
    const log = await run([failing], { max_tokens: 50_000 });
    expect(endOf(log)).toMatchObject({ status: 'success', answer: 'at last' });
    const { total_tokens, charged_tokens: charged = 0 } = endOf(log).usage;
    expect(total_tokens).toBe(1100);
    expect(charged).toBeGreaterThan(500);
    // With room for one attempt and the synthesis pass, there is no second attempt.
    const tight = await run([failing], { max_tokens: Math.ceil(charged * 2.5) });
    expect(endOf(tight)).toMatchObject({ status: 'failed', failure: { code: 'model_server_error' } });
    expect(endOf(tight).tree_usage).toMatchObject({ total_tokens: 0, charged_tokens: charged });
  });

  it('an attempt that the vendor refuses is charged nothing', async () => {
    const log = await run([{ attempts: [{ fail: { code: 'model_unauthorized' as const } }] }], { max_tokens: 50_000 });
    expect(endOf(log)).toMatchObject({ status: 'failed', failure: { code: 'model_unauthorized' } });
    expect(endOf(log).usage).toMatchObject({ total_tokens: 0 });
    expect(endOf(log).usage).not.toHaveProperty('charged_tokens');
  });

  it('a tree that cannot pay for the last words ends without them', async () => {
    const log = await run([{ text: 'never' }], { max_tokens: 10 });
    expect(ofType(log, 'budget_exceeded')).toMatchObject([{ scope: 'tree', limit: 'max_tokens' }]);
    expect(endOf(log)).toMatchObject({
      status: 'failed',
      failure: { code: 'budget_exhausted' },
      tree_usage: { total_tokens: 0 },
    });
  });

  it('a child that cannot pay is a capped call', async () => {
    const log = await run(
      [
        { tool_calls: [child([{ text: 'never' }])], usage },
        { text: 'ok', usage },
      ],
      { max_tokens: 5_400 },
    );
    expect(results(log)).toEqual(['capped']);
    expect(endOf(log).tree_usage.total_tokens).toBeLessThanOrEqual(5_400);
    const below = await world.logOf(`${log[0]!.run_id}/call_1_1`);
    expect(endOf(below)).toMatchObject({ failure: { code: 'budget_exhausted' } });
  });

  it('max_cost_usd', async () => {
    const turns = Array.from({ length: 30 }, () => ({ tool_calls: echo(1), usage }));
    const log = await run(turns, { max_cost_usd: 0.02 });
    expect(ofType(log, 'budget_exceeded')).toMatchObject([{ scope: 'tree', limit: 'max_cost_usd', maximum: 0.02 }]);
    expect(endOf(log).tree_usage.cost_usd).toBeLessThanOrEqual(0.02);
    expect(endOf(log)).toMatchObject({ status: 'success', answer: 'in short' });
  });
});
