/** A vendor that is down: its attempts, then the next profile of the chain. The script says which attempt does what. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DurableEvent } from '../../contract/events.js';
import { PerdureError } from '../../contract/errors.js';
import type { LiveEvent } from '../../contract/live-events.js';
import type { ModelProvider } from '../../contract/model-provider.js';
import type { ConfigOptions } from '../../kit/index.js';
import { defineAgent } from '../../kit/index.js';
import { scripted, scriptFromInput } from '../../providers/index.js';
import type { Turn } from '../../providers/index.js';
import { checkInvariants } from '../support/invariants.js';
import { call, script, testConfig } from '../support/test-agents.js';
import { createWindowModel, windowConfig, WINDOW_AGENT } from '../support/window-model.js';
import { collect, createWorld, durable, ofType } from '../support/world.js';
import type { World } from '../support/world.js';

const usage = { input_tokens: 1_000_000, output_tokens: 1_000_000 };
const overloaded = { fail: { code: 'model_overloaded' as const } };

function chainConfig(): ConfigOptions {
  const base = testConfig({ model_max_attempts: 2 });
  const provider = scripted(scriptFromInput);
  return {
    ...base,
    agents: [
      ...base.agents,
      defineAgent({
        agent_id: 'test.planner',
        instructions: 'Ask the model.',
        planner: async ({ model }) => ({ answer: String((await model.invoke()).messages.at(-1)?.content) }),
      }),
    ],
    models: {
      main: {
        provider,
        model: 'model-a',
        price: { input: 1, output: 1 },
        parameters: { temperature: 0.1 },
        fallback: ['spare'],
      },
      spare: { provider, model: 'model-b', price: { input: 10, output: 20 }, fallback: ['last'] },
      last: { provider, model: 'model-c', max_output_tokens: 8_000 },
    },
  };
}

it('a conversation that is too long for the profile that was fallen back on is compacted by it', async () => {
  const window = createWindowModel(2_000);
  const { models, ...rest } = windowConfig(window, {}, { model_max_attempts: 1 });
  const [[spare, profile] = expect.fail()] = Object.entries(models);
  const dead: ModelProvider = {
    name: 'dead',
    // oxlint-disable-next-line require-yield
    async *stream() {
      throw new PerdureError('model_overloaded', 'down');
    },
  };
  const world = await createWorld({
    ...rest,
    models: { dead: { provider: dead, model: 'dead', fallback: [spare] }, [spare]: profile },
  });
  try {
    const { run_id } = await world.client.runs.start({
      agent_id: WINDOW_AGENT,
      input: 'fact_0 steps=5 size=700',
      model_profile: 'dead',
    });
    const seen = await collect(world.client.runs.stream(run_id));
    checkInvariants(seen);
    const log = durable(seen);
    expect(log.at(-1)).toMatchObject({ status: 'success', answer: expect.stringContaining('fact_s5') });
    const [{ step_id } = expect.fail()] = ofType(log, 'context_compacted');
    // The call that was refused, the summary, and the call after it: each began with the first profile.
    const told = ofType(log, 'model_fallback').filter((event) => event.step_id === step_id);
    expect(told.map(({ to, attempt }) => [to, attempt])).toEqual([
      [spare, 2],
      [spare, 2],
      [spare, 4],
    ]);
    expect(ofType(log, 'text_end').every(({ attempt }) => attempt % 2 === 0)).toBe(true);
  } finally {
    await world.end();
  }
});

describe('a chain of model profiles', () => {
  let world: World;
  beforeAll(async () => {
    world = await createWorld(chainConfig());
  });
  afterAll(() => world.end());

  const answerOf = (log: DurableEvent[]) => {
    const end = log.at(-1);
    if (end?.type !== 'run_completed') throw new Error('the run has not ended');
    return end;
  };
  const play = (turn: Turn, agent = 'test.bare', request = {}) => world.run(agent, script([turn]), request);
  const fallbacks = (log: DurableEvent[]) =>
    ofType(log, 'model_fallback').map(({ from, to, reason, attempt }) => [from, to, reason, attempt]);

  it('is not touched while the first one answers, be it at its second attempt', async () => {
    const log = await play({ text: 'ok', usage, attempts: [overloaded, {}] });
    expect(fallbacks(log)).toEqual([]);
    expect(ofType(log, 'usage_recorded')).toMatchObject([{ usage: { model: 'model-a' } }]);
    expect(answerOf(log)).toMatchObject({ status: 'success', usage: { cost_usd: 2 } });
  });

  it('answers with the next one, at its price, and tells it once in the log', async () => {
    const log = await play({ text: 'ok', usage, attempts: [overloaded, { fail: { code: 'model_network' } }, {}] });
    expect(fallbacks(log)).toEqual([['main', 'spare', 'model_network', 3]]);
    expect(ofType(log, 'usage_recorded')).toMatchObject([{ usage: { model: 'model-b' } }]);
    expect(answerOf(log)).toMatchObject({ status: 'success', answer: 'ok', usage: { cost_usd: 30 } });
  });

  it('goes on to the last one, which has no price, and charges the dead attempts at the dearest', async () => {
    const log = await play({ text: 'ok', usage, attempts: [overloaded, overloaded, overloaded, overloaded, {}] });
    expect(fallbacks(log)).toEqual([
      ['main', 'spare', 'model_overloaded', 3],
      ['spare', 'last', 'model_overloaded', 5],
    ]);
    const { usage: used } = answerOf(log);
    expect(used).toMatchObject({ total_tokens: 2_000_000, model_calls: 1 });
    expect(used).not.toHaveProperty('cost_usd');
    // Four attempts, each up to 8,000 tokens of the last one, or 4,096 at the price of the second.
    expect(used.charged_tokens).toBeGreaterThan(4 * 8_000);
    expect(used.charged_cost_usd).toBeGreaterThan((4 * 4_096 * 20) / 1e6);
  });

  it('fails with the last error when all are down, and the log tells the whole way', async () => {
    const log = await play({ fail: { code: 'model_server_error' } });
    expect(answerOf(log)).toMatchObject({ status: 'failed', failure: { code: 'model_server_error' } });
    expect(ofType(log, 'attempt_retracted')).toMatchObject([{ attempt: 6 }]);
    expect(fallbacks(log)).toEqual([
      ['main', 'spare', 'model_server_error', 3],
      ['spare', 'last', 'model_server_error', 5],
    ]);
  });

  it.each(['model_bad_request', 'model_context_exceeded', 'model_unauthorized', 'model_forbidden'] as const)(
    'is no help against %s: the next vendor is not asked',
    async (code) => {
      const log = await play({ fail: { code } });
      expect(answerOf(log)).toMatchObject({ status: 'failed', failure: { code } });
      expect(fallbacks(log)).toEqual([]);
      expect(ofType(log, 'attempt_retracted')).toMatchObject([{ attempt: 1 }]);
    },
  );

  it('takes a refusal for an answer', async () => {
    const log = await play({ refusal: 'No.' });
    expect(answerOf(log)).toMatchObject({ status: 'success', answer: 'No.' });
    expect(fallbacks(log)).toEqual([]);
  });

  it('does not wait for a vendor that it leaves', async () => {
    const limited = { fail: { code: 'model_rate_limited' as const, retry_after_ms: 3_600_000 } };
    const log = await play({ text: 'ok', attempts: [overloaded, limited, {}] });
    expect(fallbacks(log)).toEqual([['main', 'spare', 'model_rate_limited', 3]]);
    expect(answerOf(log)).toMatchObject({ status: 'success', answer: 'ok' });
  });

  it('retracts what the dead attempt said, before the next one speaks', async () => {
    const cut = { text: ['Half an ', 'answer'], fail: { code: 'model_stream_cut' as const, after_deltas: 1 } };
    const input = script([{ text: ['The ', 'answer.'], attempts: [overloaded, cut, {}] }]);
    const { run_id } = await world.client.runs.start({ agent_id: 'test.bare', input });
    const seen = await collect(world.client.runs.stream(run_id));
    const live = seen.filter((event): event is LiveEvent => 'live_id' in event && !('seq' in event));
    const kinds = live.map((event) => `${event.type} ${'attempt' in event ? event.attempt : ''}`);
    expect(kinds.indexOf('text_chunk 2')).toBeGreaterThanOrEqual(0);
    expect(kinds.indexOf('attempt_retracted 2')).toBeGreaterThan(kinds.lastIndexOf('text_chunk 2'));
    expect(kinds.indexOf('attempt_retracted 2')).toBeLessThan(kinds.indexOf('text_start 3'));
    expect(JSON.stringify(durable(seen).slice(1))).not.toContain('Half an');
  });

  it('begins anew with each step: the first one may be up again', async () => {
    const log = await world.run(
      'test.agent',
      script([
        { tool_calls: [call('tools.echo', { text: 'a' })], attempts: [overloaded, overloaded, {}] },
        { text: 'ok' },
      ]),
    );
    expect(fallbacks(log)).toHaveLength(1);
    expect(ofType(log, 'usage_recorded').map((event) => event.usage.model)).toEqual(['model-b', 'model-a']);
  });

  it('holds for the model calls of a planner', async () => {
    const log = await play({ text: 'ok', usage, attempts: [overloaded, overloaded, {}] }, 'test.planner');
    expect(fallbacks(log)).toEqual([['main', 'spare', 'model_overloaded', 3]]);
    expect(answerOf(log)).toMatchObject({ status: 'success', answer: 'ok', usage: { cost_usd: 30 } });
  });

  it('tells how far it came when the next one refuses the request', async () => {
    const tooLong = { fail: { code: 'model_context_exceeded' as const } };
    const log = await play({ attempts: [overloaded, overloaded, tooLong] });
    expect(answerOf(log)).toMatchObject({ status: 'failed', failure: { code: 'model_context_exceeded' } });
    expect(fallbacks(log)).toEqual([['main', 'spare', 'model_overloaded', 3]]);
  });

  it('is reserved for at its dearest: a budget that only the first one fits is not enough', async () => {
    // 4,096 tokens of answer cost 0.004 with the first profile and 0.08 with the second.
    const log = await play({ text: 'ok' }, 'test.bare', { limits: { run: { max_cost_usd: 0.05 } } });
    expect(ofType(log, 'budget_exceeded')).toMatchObject([{ limit: 'max_cost_usd', maximum: 0.05 }]);
  });

  it('is pinned: the spec of the run names it whole', async () => {
    const { run_id } = await world.client.runs.start({ agent_id: 'test.bare', input: script([{ text: 'ok' }]) });
    await world.logOf(run_id);
    const history = await world.temporal.workflow.getHandle(run_id).fetchHistory();
    const payloads = (history.events ?? []).flatMap(
      (event) => event.activityTaskCompletedEventAttributes?.result?.payloads ?? [],
    );
    const [resolved] = payloads.map((payload) => JSON.parse(Buffer.from(payload.data ?? []).toString()) as object);
    expect(resolved).toMatchObject({
      spec: {
        model: {
          profile: 'main',
          model: 'model-a',
          fallback: [
            { profile: 'spare', model: 'model-b', price: { input: 10 } },
            { profile: 'last', model: 'model-c', max_output_tokens: 8_000 },
          ],
        },
      },
    });
  });
});
