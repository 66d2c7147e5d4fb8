/**
 * The invariants over random trees, with failures, cancels, terminations, timeouts and answers in any order: the
 * bundled workflow on the real server. PERDURE_SEED repeats a run, PERDURE_TREES asks for more.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parseDuration } from '../../contract/durations.js';
import { checkInvariants, checkTree } from '../support/invariants.js';
import { logsOf, playTree, treeCase } from '../support/random-trees.js';
import type { TreeCase } from '../support/random-trees.js';
import { treeConfig } from '../support/tree-agents.js';
import { collect, createWorld, durable } from '../support/world.js';
import type { World } from '../support/world.js';

const TREES = Number(process.env['PERDURE_TREES'] ?? 100);
const SEED = Number(process.env['PERDURE_SEED'] ?? Date.now() % 2_147_483_647);
const AT_ONCE = 10;

let world: World;
beforeAll(async () => {
  world = await createWorld(
    treeConfig({ model_max_attempts: 2, long_pause: 400 }, { root: { await_expires_in: '1500ms' } }),
  );
});
afterAll(() => world.end());

const limits = fc.record({
  run: fc.record({ time_budget: fc.constantFrom('20s', '20s', '20s', '2500ms') }),
  tree: fc.record(
    {
      max_tool_calls: fc.integer({ min: 2, max: 30 }),
      max_children: fc.integer({ min: 1, max: 8 }),
      max_depth: fc.integer({ min: 1, max: 3 }),
    },
    { requiredKeys: [] },
  ),
});

async function play(
  [given, bounds]: [TreeCase, { run: { time_budget: string } }],
  outcomes: Record<string, number>,
): Promise<void> {
  const seen = await playTree(world, given, { limits: bounds });
  const logs = logsOf(seen);
  for (const [runId, events] of seen.runs) {
    if (runId === seen.terminated) continue;
    checkInvariants(events, { budget_ms: parseDuration(bounds.run.time_budget) ?? 0 });
    const again = await collect(world.client.runs.stream(runId));
    expect(durable(again).map((event) => JSON.stringify(event))).toEqual(
      durable(events).map((event) => JSON.stringify(event)),
    );
    logs.set(runId, durable(again));
  }
  checkTree(logs, seen.root, seen.terminated);
  const end = logs.get(seen.root)?.at(-1);
  const count = (name: string, by = 1) => (outcomes[name] = (outcomes[name] ?? 0) + by);
  count(end?.type === 'run_completed' ? end.status : 'none');
  count('runs', logs.size);
  for (const log of logs.values())
    for (const event of log) if (event.type === 'await_resolved') count(`await ${event.resolution}`);
  if (seen.terminated !== undefined) count('terminated');
}

it(`the invariants hold over ${TREES} random trees (PERDURE_SEED=${SEED})`, { timeout: 900_000 }, async () => {
  const outcomes: Record<string, number> = {};
  const anyTree = fc.tuple(treeCase({ depth: 2, pauses: true }, true), limits);
  await fc.assert(
    fc.asyncProperty(fc.array(anyTree, { minLength: AT_ONCE, maxLength: AT_ONCE }), async (cases) => {
      await Promise.all(cases.map((given) => play(given, outcomes)));
    }),
    { seed: SEED, numRuns: Math.ceil(TREES / AT_ONCE), endOnFailure: true },
  );
  process.stderr.write(`trees: seed ${SEED}, ${JSON.stringify(outcomes)}\n`);
  // A generator that never reaches an outcome would prove nothing about it.
  expect(Object.keys(outcomes)).toEqual(
    expect.arrayContaining([
      'success',
      'failed',
      'canceled',
      'await answered',
      'await approved',
      'await denied',
      'await expired',
    ]),
  );
});
