/** Random trees of runs, and a caller who watches all of them, answers as it pleases, cancels and terminates. */
import fc from 'fast-check';
import type { StreamEvent } from '../../client/index.js';
import type { DurableEvent } from '../../contract/events.js';
import type { Script } from '../../providers/index.js';
import { call, script } from './test-agents.js';
import { ask } from './tree-agents.js';
import { durable } from './world.js';
import type { World } from './world.js';

type Turn = Script['turns'][number];
type Call = NonNullable<Turn['tool_calls']>[number];

/** What the model says it used: far below what is reserved for it. */
const usage = { input_tokens: 40, output_tokens: 10 };

const quick = fc
  .record({ do: fc.constantFrom('ok', 'ok', 'throw', 'refuse', 'hang', 'sleep'), ms: fc.nat(80) })
  .map((args) => call('tools.quick', args));
const plain = fc.oneof(
  quick,
  fc.constantFrom(call('tools.echo', { text: 'x' }), call('guarded.spend', { sum: 3 })),
  fc.constantFrom<Call>({ tool: 'make_coffee', args: {} }, { tool: 'test.tools.echo', args: '{"half' }),
);
const pausing = fc.constantFrom<Call>(ask('Which?'), call('guarded.always', { text: 'x' }), {
  tool: 'client.declared.client_pick',
  args: {},
});

export interface Shape {
  depth: number;
  /** Calls that ask people. */
  pauses: boolean;
}

function toolCall(shape: Shape): fc.Arbitrary<Call> {
  const { depth, pauses } = shape;
  return fc.oneof(
    { depthSize: 'max' },
    { weight: 4, arbitrary: plain },
    ...(pauses ? [{ weight: 3, arbitrary: pausing }] : []),
    ...(depth > 0 ? [{ weight: 5, arbitrary: below(shape, 'node') }] : []),
    ...(depth > 0 ? [{ weight: 1, arbitrary: below(shape, 'finalized') }] : []),
    ...(depth > 0 && pauses ? [{ weight: 1, arbitrary: below(shape, 'approved') }] : []),
  );
}

const failure = fc.constantFrom<Turn>(
  {},
  {},
  {},
  {},
  {},
  {},
  { attempts: [{ fail: { code: 'model_server_error' } }, {}] },
  { attempts: [{ text: ['so '], fail: { code: 'model_stream_cut', after_deltas: 1 } }, {}] },
  { fail: { code: 'model_bad_request' } },
);

function agentScript(shape: Shape): fc.Arbitrary<string> {
  const { depth } = shape;
  const calls = fc.array(toolCall(shape), { minLength: 1, maxLength: 3, size: 'max' });
  const turn = fc.tuple(calls, failure).map(([tool_calls, failing]): Turn => ({ tool_calls, ...failing, usage }));
  const children =
    depth < 2 ? fc.constant<Call[]>([]) : fc.array(below(shape, 'node'), { minLength: 1, maxLength: 2, size: 'max' });
  const end = fc.oneof(
    { weight: 8, arbitrary: fc.constant<Turn>({ text: 'done', usage }) },
    { weight: 1, arbitrary: fc.constant<Turn>({ text: ['hm'], hang: true }) },
  );
  return fc
    .tuple(
      children,
      fc.array(turn, { minLength: depth === 1 ? 1 : 0, maxLength: depth === 0 ? 1 : 2, size: 'max' }),
      end,
    )
    .map(([first, turns, last]) => {
      const begin: Turn[] = first.length === 0 ? [] : [{ tool_calls: first, usage }];
      return script([...begin, ...turns, last], { text: 'in short', usage });
    });
}

function below({ depth, pauses }: Shape, agent: string): fc.Arbitrary<Call> {
  return agentScript({ depth: depth - 1, pauses }).map((text) => ({
    tool: `test.agents.${agent}`,
    args: { script: text },
  }));
}

export interface TreeCase {
  input: string;
  /** Milliseconds after the start, and which of the runs that are there by then. */
  cancel: { after: number; which: number } | undefined;
  terminate: { after: number; which: number } | undefined;
  /** What is done about each pause, in the order in which they are seen. */
  moods: number[];
}

export function treeCase(shape: Shape, terminations: boolean): fc.Arbitrary<TreeCase> {
  const blow = fc.record({ after: fc.integer({ min: 100, max: 2500 }), which: fc.nat(5) });
  const sometimes = (weight: number) =>
    fc.oneof({ weight, arbitrary: blow }, { weight: 10, arbitrary: fc.constant(undefined) });
  return fc.record({
    input: agentScript(shape),
    cancel: sometimes(3),
    terminate: terminations ? sometimes(2) : fc.constant(undefined),
    moods: fc.array(fc.nat(6), { minLength: 12, maxLength: 12 }),
  });
}

export const client_tools = [{ name: 'client_pick', description: 'Picks.', input_schema: { type: 'object' } }];

export interface SeenTree {
  root: string;
  /** All that was seen of each run, in the order in which the runs were found. */
  runs: Map<string, StreamEvent[]>;
  terminated: string | undefined;
}

/** Plays a case to the end of all its runs. */
export async function playTree(
  world: Pick<World, 'client' | 'temporal'>,
  given: TreeCase,
  request: Record<string, unknown>,
): Promise<SeenTree> {
  const { client, temporal } = world;
  const { run_id: root } = await client.runs.start({
    agent_id: 'test.node',
    input: given.input,
    client_tools,
    ...request,
  });
  const runs = new Map<string, StreamEvent[]>();
  const watching: Promise<void>[] = [];
  const doing: Promise<unknown>[] = [];
  let pauses = 0;
  let terminated: string | undefined;

  function watch(runId: string): void {
    const seen: StreamEvent[] = [];
    runs.set(runId, seen);
    watching.push(
      (async () => {
        for await (const event of client.runs.stream(runId)) {
          seen.push(event);
          if (!('seq' in event)) continue;
          if (event.type === 'agent_run_started') watch(event.link.run_id);
          const mood = given.moods[pauses % given.moods.length] ?? 0;
          if (event.type.startsWith('await_') && event.type !== 'await_resolved') {
            pauses += 1;
            doing.push(react(world, event, mood).catch(() => {}));
          }
        }
      })(),
    );
  }

  const later = (blow: TreeCase['cancel'], strike: (runId: string) => Promise<unknown>) => {
    if (blow === undefined) return;
    doing.push(
      new Promise((resolve) => setTimeout(resolve, blow.after)).then(() => {
        const [, ...below] = runs.keys();
        return strike([root, ...below][blow.which % (below.length + 1)] ?? root).catch(() => {});
      }),
    );
  };

  watch(root);
  later(given.cancel, (runId) => client.runs.cancel(runId));
  later(given.terminate, async () => {
    const runId = [...runs.keys()].at(1 + ((given.terminate?.which ?? 0) % Math.max(1, runs.size - 1)));
    if (runId === undefined) return;
    await temporal.workflow.getHandle(runId).terminate('by the test');
    terminated = runId;
  });
  // Watching a run can add another one.
  for (let n = 0; n < watching.length; n++) await watching[n];
  await Promise.all(doing);
  return { root, runs, terminated };
}

async function react(world: Pick<World, 'client' | 'temporal'>, event: DurableEvent, mood: number): Promise<void> {
  const { runs } = world.client;
  const handle = world.temporal.workflow.getHandle(event.run_id);
  // Nobody answers: it expires.
  if (mood === 0) return;
  if (mood === 1) await new Promise((resolve) => setTimeout(resolve, 300));
  if (event.type === 'await_clarification') {
    const answer = { await_id: event.await_id, answer: 'this' };
    if (mood === 2) await handle.signal('answer_clarification', { await_id: event.await_id, answer: 7 });
    if (mood === 3) await handle.signal('answer_clarification', answer);
    else
      await Promise.allSettled([
        runs.answerClarification(event.run_id, answer),
        ...(mood === 4 ? [handle.signal('answer_clarification', answer)] : []),
      ]);
  } else if (event.type === 'await_approval') {
    const answer = { await_id: event.await_id, digest: event.digest };
    if (mood === 2)
      await runs.decideApproval(event.run_id, { ...answer, decision: 'approve', digest: 'wrong' }).catch(() => {});
    const decisions =
      mood === 4 ? (['approve', 'deny'] as const) : mood === 5 ? (['deny'] as const) : (['approve'] as const);
    await Promise.allSettled(decisions.map((decision) => runs.decideApproval(event.run_id, { ...answer, decision })));
  } else if (event.type === 'await_external_tools') {
    for (const { tool_call_id } of mood === 5 ? event.calls.slice(1) : event.calls) {
      const status = mood === 3 ? 'declined' : mood === 4 ? 'error' : 'success';
      await runs.submitToolResults(event.run_id, { results: [{ tool_call_id, status, output: 'given' }] });
    }
  }
}

export function logsOf({ runs }: SeenTree): Map<string, DurableEvent[]> {
  return new Map([...runs].map(([runId, seen]) => [runId, durable(seen)]));
}
