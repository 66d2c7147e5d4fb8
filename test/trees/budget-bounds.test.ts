/**
 * For random trees and limits, what was spent never exceeds the tree's limits: calls, steps and children as the logs
 * show them, tokens and cost as they were reserved and charged. PERDURE_SEED repeats a run.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { DurableEvent } from '../../contract/events.js';
import type { RunUsage } from '../../contract/run.js';
import { addUsage, NO_USAGE } from '../../contract/snapshot.js';
import { logsOf, playTree, treeCase } from '../support/random-trees.js';
import type { TreeCase } from '../support/random-trees.js';
import { treeConfig } from '../support/tree-agents.js';
import { createWorld, ofType } from '../support/world.js';
import type { World } from '../support/world.js';

const TREES = Number(process.env['PERDURE_TREES'] ?? 60);
const SEED = Number(process.env['PERDURE_SEED'] ?? Date.now() % 2_147_483_647);
const AT_ONCE = 10;

let world: World;
beforeAll(async () => {
  const model = { price: { input: 1, output: 4 }, max_output_tokens: 300 };
  world = await createWorld(treeConfig({ model_max_attempts: 3 }, { model, root: { await_expires_in: '500ms' } }));
});
afterAll(() => world.end());

interface TreeBounds {
  max_tool_calls?: number;
  max_steps?: number;
  max_children?: number;
  max_tokens?: number;
  max_cost_usd?: number;
}

const bounds: fc.Arbitrary<TreeBounds> = fc.record(
  {
    max_tool_calls: fc.integer({ min: 1, max: 20 }),
    max_steps: fc.integer({ min: 2, max: 24 }),
    max_children: fc.integer({ min: 1, max: 8 }),
    max_tokens: fc.integer({ min: 3_000, max: 150_000 }),
    max_cost_usd: fc.integer({ min: 4, max: 200 }).map((n) => n / 1000),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<TreeBounds>;

/** As the logs show it, whatever the runs say of themselves. */
function shown(logs: Iterable<DurableEvent[]>) {
  let [tool_calls, steps, children, tokens] = [0, 0, 0, 0];
  for (const log of logs) {
    tool_calls += ofType(log, 'tool_scheduled').length + ofType(log, 'await_clarification').length;
    tool_calls += ofType(log, 'await_external_tools').flatMap((event) => event.calls).length;
    steps += ofType(log, 'step_started').filter((event) => event.title !== 'Synthesis').length;
    children += ofType(log, 'agent_run_started').length;
    tokens += ofType(log, 'usage_recorded').reduce((sum, event) => sum + event.usage.total_tokens, 0);
  }
  return { tool_calls, steps, children, tokens };
}

async function play([given, tree]: [TreeCase, TreeBounds], outcomes: Record<string, number>): Promise<void> {
  const seen = await playTree(world, given, { limits: { tree, run: { time_budget: '30s' } } });
  const logs = logsOf(seen);
  const end = logs.get(seen.root)?.at(-1);
  if (end?.type !== 'run_completed') throw new Error(`${seen.root} has not ended`);
  const count = (name: string, by = 1) => (outcomes[name] = (outcomes[name] ?? 0) + by);
  count(end.status);
  count('runs', logs.size);
  if (seen.terminated !== undefined) count('terminated');
  for (const log of logs.values())
    for (const { scope, limit } of ofType(log, 'budget_exceeded')) count(`${scope} ${limit}`);

  const { tree_usage } = end;
  const spent = shown(logs.values());
  const within = (what: string, amount: number, limit: number | undefined) =>
    expect(amount, `${what} of ${seen.root}`).toBeLessThanOrEqual((limit ?? Number.POSITIVE_INFINITY) + 1e-9);
  for (const [what, limit, amounts] of [
    ['tool calls', tree.max_tool_calls, [tree_usage.tool_calls, spent.tool_calls]],
    ['steps', tree.max_steps, [tree_usage.steps ?? 0, spent.steps]],
    ['children', tree.max_children, [tree_usage.children ?? 0, spent.children]],
    ['tokens', tree.max_tokens, [tree_usage.total_tokens + (tree_usage.charged_tokens ?? 0), spent.tokens]],
    ['cost', tree.max_cost_usd, [(tree_usage.cost_usd ?? 0) + (tree_usage.charged_cost_usd ?? 0)]],
  ] as const) {
    for (const amount of amounts) within(what, amount, limit);
  }
  // A child that was terminated is charged its lease in place of what it used.
  if (seen.terminated === undefined) expect(spent.tokens).toBe(tree_usage.total_tokens);
  if (seen.terminated === undefined) expect(tree_usage).toEqual(expect.objectContaining(rounded(sumOf(logs.values()))));
}

function sumOf(logs: Iterable<DurableEvent[]>): RunUsage {
  let sum = NO_USAGE;
  for (const log of logs) for (const { usage } of ofType(log, 'run_completed')) sum = addUsage(sum, usage);
  return sum;
}

/** Sums of fractions differ by the order of adding. */
function rounded({ cost_usd, charged_cost_usd, ...usage }: RunUsage) {
  const close = (amount: number) => expect.closeTo(amount, 9) as number;
  return {
    ...usage,
    ...(cost_usd === undefined ? {} : { cost_usd: close(cost_usd) }),
    ...(charged_cost_usd === undefined ? {} : { charged_cost_usd: close(charged_cost_usd) }),
  };
}

it(`no tree overspends, over ${TREES} random ones (PERDURE_SEED=${SEED})`, { timeout: 900_000 }, async () => {
  const outcomes: Record<string, number> = {};
  const anyTree = fc.tuple(treeCase({ depth: 2, pauses: true }, true), bounds);
  await fc.assert(
    fc.asyncProperty(fc.array(anyTree, { minLength: AT_ONCE, maxLength: AT_ONCE }), async (cases) => {
      await Promise.all(cases.map((given) => play(given, outcomes)));
    }),
    { seed: SEED, numRuns: Math.ceil(TREES / AT_ONCE), endOnFailure: true },
  );
  process.stderr.write(`budgets: seed ${SEED}, ${JSON.stringify(outcomes)}\n`);
  expect(Object.keys(outcomes)).toEqual(
    expect.arrayContaining(['success', 'tree max_tool_calls', 'tree max_steps', 'tree max_tokens']),
  );
});
