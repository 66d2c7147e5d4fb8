/**
 * The invariants of a run over random scripts with failures, retries, cancels and timeouts: the bundled workflow on
 * the real server. PERDURE_SEED repeats a run, PERDURE_CASES asks for more.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { StreamEvent } from '../../client/index.js';
import { parseDuration } from '../../contract/durations.js';
import type { Script } from '../../providers/index.js';
import { checkInvariants } from '../support/invariants.js';
import { call, script, testConfig } from '../support/test-agents.js';
import { collect, createWorld, durable } from '../support/world.js';
import type { World } from '../support/world.js';

const CASES = Number(process.env['PERDURE_CASES'] ?? 200);
const SEED = Number(process.env['PERDURE_SEED'] ?? Date.now() % 2_147_483_647);
const AT_ONCE = 10;

type Turn = Script['turns'][number];

const words = fc.array(fc.constantFrom('one ', 'two ', 'drei ', 'çetire ', '五 ', '🙂 ', '"quoted" ', '\n'), {
  minLength: 1,
  maxLength: 6,
});
const failure = fc.record({
  code: fc.constantFrom('model_stream_cut', 'model_server_error', 'model_stream_empty', 'model_bad_request' as const),
  after_deltas: fc.nat(5),
});
const toolCall = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .record({ do: fc.constantFrom('ok', 'throw', 'refuse', 'hang', 'sleep', 'cyclic'), ms: fc.nat(80) })
      .map((args) => call('tools.quick', args)),
  },
  { weight: 2, arbitrary: words.map((text) => call('tools.echo', { text: text.join('') })) },
  { weight: 1, arbitrary: fc.constantFrom('make_coffee', 'test.tools.nothing').map((tool) => ({ tool, args: {} })) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('{"half', '[]', 'null', '').map((args) => ({ tool: 'test.tools.echo', args })),
  },
);
const reply = fc.record(
  { thinking: words, text: words, tool_calls: fc.array(toolCall, { minLength: 1, maxLength: 3 }), delay_ms: fc.nat(8) },
  { requiredKeys: [] },
);
const turn: fc.Arbitrary<Turn> = fc
  .tuple(reply, fc.array(failure, { maxLength: 2 }), fc.boolean())
  .map(([said, failures, hang]) => ({
    ...(said.text === undefined && said.tool_calls === undefined ? { ...said, text: ['fine '] } : said),
    ...(failures.length === 0 ? {} : { attempts: [...failures.map((fail) => ({ fail })), {}] }),
    ...(hang && failures.length === 2 ? { hang: true as const } : {}),
  }));

interface Case {
  turns: Turn[];
  agent: string;
  cancelAfter: number | undefined;
  limits: Record<string, unknown> & { time_budget: string };
}

const anyCase: fc.Arbitrary<Case> = fc.record({
  turns: fc.array(turn, { minLength: 1, maxLength: 4 }),
  agent: fc.constantFrom('test.agent', 'test.agent', 'test.synthesizer'),
  cancelAfter: fc.option(fc.nat(40), { nil: undefined, freq: 2 }),
  limits: fc.record({
    time_budget: fc.constantFrom('3s', '700ms'),
    max_tool_calls: fc.integer({ min: 0, max: 6 }),
    max_steps: fc.integer({ min: 1, max: 5 }),
    max_consecutive_failed_tool_calls: fc.integer({ min: 0, max: 2 }),
  }),
});

let world: World;
beforeAll(async () => {
  world = await createWorld(testConfig({ model_max_attempts: 3 }));
});
afterAll(() => world.end());

async function play({ turns, agent, cancelAfter, limits }: Case): Promise<string> {
  const input = script([...turns, { text: 'the end' }], { thinking: 'so ', text: 'in short ' });
  const { run_id } = await world.client.runs.start({ agent_id: agent, input, limits: { run: limits } });
  const seen: StreamEvent[] = [];
  for await (const event of world.client.runs.stream(run_id)) {
    seen.push(event);
    if (seen.length === cancelAfter) void world.client.runs.cancel(run_id).catch(() => {});
  }
  checkInvariants(seen, { budget_ms: parseDuration(limits.time_budget) ?? 0 });
  // 5: another reader of the same log sees the same bytes.
  const again = await collect(world.client.runs.stream(run_id));
  expect(durable(again).map((event) => JSON.stringify(event))).toEqual(
    durable(seen).map((event) => JSON.stringify(event)),
  );
  const end = seen.at(-1);
  return end?.type === 'run_completed' ? end.status : 'none';
}

it(`the invariants hold over ${CASES} random runs (PERDURE_SEED=${SEED})`, { timeout: 600_000 }, async () => {
  const outcomes: Record<string, number> = {};
  await fc.assert(
    fc.asyncProperty(fc.array(anyCase, { minLength: AT_ONCE, maxLength: AT_ONCE }), async (cases) => {
      for (const outcome of await Promise.all(cases.map(play))) outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    }),
    { seed: SEED, numRuns: Math.ceil(CASES / AT_ONCE), endOnFailure: true },
  );
  process.stderr.write(`invariants: seed ${SEED}, outcomes ${JSON.stringify(outcomes)}\n`);
  // A generator that never reaches an outcome would prove nothing about it.
  expect(Object.keys(outcomes).sort()).toEqual(['canceled', 'failed', 'success']);
});
