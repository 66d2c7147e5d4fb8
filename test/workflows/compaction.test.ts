/** One run whose conversation no longer fits its model. */
import { afterAll, describe, expect, it } from 'vitest';
import { isSummary } from '../../contract/compaction.js';
import { checkInvariants } from '../support/invariants.js';
import { createWindowModel, tokensOf, windowConfig, WINDOW_AGENT } from '../support/window-model.js';
import { collect, createWorld, durable, ofType } from '../support/world.js';
import type { World } from '../support/world.js';

const WINDOW = 2_000;
const worlds: World[] = [];
async function makeWorld(window: number, ...[profile, runtime]: [object?, object?]) {
  const model = createWindowModel(window);
  const world = await createWorld(windowConfig(model, profile ?? { context_tokens: window }, runtime));
  worlds.push(world);
  const run = async (input: string, request: Record<string, unknown> = {}) => {
    const { run_id } = await world.client.runs.start({ agent_id: WINDOW_AGENT, input, ...request });
    const seen = await collect(world.client.runs.stream(run_id));
    checkInvariants(seen);
    return durable(seen);
  };
  return { world, model, run };
}
afterAll(() => Promise.all(worlds.map((world) => world.end())));

const factsAfter = (steps: number) =>
  ['fact_0', ...Array.from({ length: steps }, (_, n) => `fact_s${n + 1}`)].toSorted();

describe.each([
  ['with what its worker remembers', {}],
  ['on a worker that remembers nothing', { context_cache_runs: 0 }],
  ['over continue-as-new', { continue_as_new_after_events: 30, context_cache_runs: 0 }],
] as const)('a run that grows beyond the window, %s,', (_, runtime) => {
  it('goes on from summaries, with the user’s message as it is', async () => {
    const { world, model, run } = await makeWorld(WINDOW, undefined, runtime);
    const log = await run('fact_0 steps=14 size=500');
    const end = log.at(-1);
    expect(end).toMatchObject({ status: 'success' });
    expect(end?.type === 'run_completed' && end.status === 'success' && end.answer.split(' ').toSorted()).toEqual(
      factsAfter(14),
    );
    const compacted = ofType(log, 'context_compacted');
    expect(compacted.length).toBeGreaterThan(1);
    expect(compacted.length).toBeLessThan(8);
    expect(new Set(compacted.map(({ step_id }) => step_id)).size).toBe(compacted.length);
    for (const { messages, step_id } of model.requests) {
      expect(tokensOf(messages)).toBeLessThan(WINDOW);
      if (!step_id.endsWith('.compaction'))
        expect(messages.filter(({ content }) => content === 'fact_0 steps=14 size=500')).toHaveLength(1);
    }
    // It is paid for like any other call.
    expect(ofType(log, 'usage_recorded')).toHaveLength(15 + compacted.length);
    expect(end).toMatchObject({ usage: { model_calls: 15 + compacted.length } });
    const history = await world.temporal.workflow.getHandle(log[0]?.run_id ?? '').fetchHistory();
    const continued = history.events?.[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId ?? '';
    expect(continued !== '').toBe('continue_as_new_after_events' in runtime);
  });
});

describe('a call that the vendor refuses as too long', () => {
  it('is made again once, as a further attempt, after the conversation was compacted', async () => {
    const { model, run } = await makeWorld(WINDOW, {});
    const log = await run('fact_0 steps=5 size=700');
    const compacted = ofType(log, 'context_compacted');
    expect(compacted.length).toBeGreaterThan(0);
    expect(compacted.every(({ reason }) => reason === 'refused')).toBe(true);
    const { step_id } = compacted[0] ?? expect.fail();
    expect(ofType(log, 'attempt_retracted').filter((event) => event.step_id === step_id)).toMatchObject([
      { attempt: 1 },
    ]);
    expect(model.requests.filter((request) => request.step_id === step_id).map(({ attempt }) => attempt)).toEqual([
      1, 2,
    ]);
    const end = log.at(-1);
    expect(end?.type === 'run_completed' && end.status === 'success' && end.answer.split(' ').toSorted()).toEqual(
      factsAfter(5),
    );
    // A refused attempt costs nothing.
    expect(end).not.toHaveProperty('usage.charged_tokens');
  });

  it('fails the run where that was not enough, with one summary in the log', async () => {
    const { run } = await makeWorld(700, {});
    const log = await run(`fact_0 steps=1 size=100 ${'z'.repeat(2_550)}`);
    expect(ofType(log, 'context_compacted')).toHaveLength(1);
    expect(log.at(-1)).toMatchObject({ status: 'failed', failure: { code: 'model_context_exceeded' } });
    expect(ofType(log, 'attempt_retracted')).toMatchObject([{ step_id: 'step_2', attempt: 2 }]);
  });

  it('fails the run where there is nothing to compact', async () => {
    const { model, run } = await makeWorld(500, {});
    const log = await run('z'.repeat(3_000));
    expect(log.at(-1)).toMatchObject({ status: 'failed', failure: { code: 'model_context_exceeded' } });
    expect(ofType(log, 'context_compacted')).toEqual([]);
    expect(model.requests).toHaveLength(1);
  });
});

describe('a conversation that cannot be compacted', () => {
  it('is sent as it is: where the summary fails, where a limit leaves no room for it', async () => {
    // The window that is said is smaller than the real one, so the call works all the same.
    const { run } = await makeWorld(20_000, { context_tokens: 1_500 });
    const muted = await run('fact_0 mute steps=4 size=1500');
    expect(ofType(muted, 'context_compacted')).toEqual([]);
    expect(muted.at(-1)).toMatchObject({ status: 'success', answer: expect.stringContaining('fact_s4') });
    const input = 'fact_0 steps=2 size=1500';
    const free = await run(input);
    expect(ofType(free, 'context_compacted')).not.toEqual([]);
    const poor = await run(input, { limits: { run: { max_tokens: 5_200 } } });
    expect(ofType(poor, 'context_compacted')).toEqual([]);
    expect(poor.at(-1)).toMatchObject({ status: 'success' });
  });
});

it('a synthesis pass reads a summary too, and a message larger than the window is summarized in parts', async () => {
  const { model, run } = await makeWorld(WINDOW);
  const log = await run('fact_0 steps=3 size=5500', { limits: { run: { max_tool_calls: 1 } } });
  expect(ofType(log, 'budget_exceeded')).toMatchObject([{ limit: 'max_tool_calls' }]);
  expect(log.at(-1)).toMatchObject({ status: 'success', answer: expect.stringContaining('fact_s1') });
  const summaries = model.requests.filter(({ step_id }) => step_id.endsWith('.compaction'));
  expect(summaries.length).toBeGreaterThan(1);
  expect(isSummary(model.requests.at(-1)?.messages[1] ?? expect.fail())).toBe(true);
});

it('a synthesis pass that is refused as too long is compacted and made again, also after the deadline', async () => {
  const { run } = await makeWorld(WINDOW, {});
  const log = await run('fact_0 steps=9 size=1600 linger=3', { limits: { run: { time_budget: '2s' } } });
  expect(ofType(log, 'budget_exceeded')).toMatchObject([{ limit: 'time_budget' }]);
  expect(ofType(log, 'context_compacted')).toMatchObject([{ reason: 'refused' }]);
  expect(log.at(-1)).toMatchObject({ status: 'success', answer: expect.stringContaining('fact_s2') });
});
