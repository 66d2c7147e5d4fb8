import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DurableEvent } from '../../contract/events.js';
import { call, script, testConfig } from '../support/test-agents.js';
import { createWorld, ofType, phases } from '../support/world.js';
import type { World } from '../support/world.js';

const looping = (tool_calls: ReturnType<typeof call>[]) =>
  script(
    Array.from({ length: 10 }, () => ({ tool_calls })),
    { text: 'That is what I have.' },
  );
const oneEcho = looping([call('tools.echo', { text: 'x' })]);

describe('a cap ends in a synthesis pass and never in a lost answer', () => {
  let world: World;
  beforeAll(async () => {
    world = await createWorld(testConfig());
  });
  afterAll(() => world.end());

  function expectSynthesis(log: DurableEvent[], limit: string): void {
    expect(phases(log).slice(-2)).toEqual(['synthesizing', 'completed']);
    expect(ofType(log, 'budget_exceeded')).toMatchObject([{ scope: 'run', limit }]);
    expect(log.at(-1)).toMatchObject({ status: 'success', answer: 'That is what I have.' });
    expect(ofType(log, 'tool_result')).toHaveLength(ofType(log, 'tool_requested').length);
  }

  it('max_tool_calls refuses the batch that would exceed it, whole', async () => {
    const batch = looping([call('tools.echo', { text: 'a' }), call('tools.echo', { text: 'b' })]);
    const log = await world.run('test.agent', batch, { limits: { run: { max_tool_calls: 3 } } });
    expectSynthesis(log, 'max_tool_calls');
    const results = ofType(log, 'tool_result').map((event) =>
      event.status === 'success' ? 'success' : event.failure.kind,
    );
    expect(results).toEqual(['success', 'success', 'capped', 'capped']);
    expect(ofType(log, 'tool_scheduled')).toHaveLength(2);
  });

  it('max_steps', async () => {
    const log = await world.run('test.agent', oneEcho, { limits: { run: { max_steps: 2 } } });
    expectSynthesis(log, 'max_steps');
    expect(ofType(log, 'step_started').map((event) => event.title)).toEqual(['Step 1', 'Step 2', 'Synthesis']);
  });

  it('max_tokens', async () => {
    // One call reserves its input and an output of 4,096; the same again is held back for the synthesis pass.
    const log = await world.run('test.agent', oneEcho, { limits: { run: { max_tokens: 12_000 } } });
    expectSynthesis(log, 'max_tokens');
    expect(ofType(log, 'step_started').length).toBeGreaterThan(1);
    expect(log.at(-1)).toMatchObject({ type: 'run_completed' });
  });

  it('max_tokens too small for one step leaves the synthesis pass', async () => {
    const log = await world.run('test.agent', oneEcho, { limits: { run: { max_tokens: 1 } } });
    expectSynthesis(log, 'max_tokens');
    expect(ofType(log, 'step_started').map((event) => event.title)).toEqual(['Synthesis']);
  });

  it('max_consecutive_failed_tool_calls counts decisions, not calls', async () => {
    const failing = looping([call('tools.act', { do: 'refuse' }), call('tools.act', { do: 'refuse' })]);
    const log = await world.run('test.agent', failing, { limits: { run: { max_consecutive_failed_tool_calls: 2 } } });
    expectSynthesis(log, 'max_consecutive_failed_tool_calls');
    expect(ofType(log, 'tool_result')).toHaveLength(4);
  });

  it('one success in a batch starts the count of failures anew', async () => {
    const mixed = [call('tools.act', { do: 'refuse' }), call('tools.echo', { text: 'ok' })];
    const input = script([
      { tool_calls: [mixed[0]!] },
      { tool_calls: mixed },
      { tool_calls: [mixed[0]!] },
      { text: 'Fine.' },
    ]);
    const log = await world.run('test.agent', input, { limits: { run: { max_consecutive_failed_tool_calls: 2 } } });
    expect(ofType(log, 'budget_exceeded')).toEqual([]);
    expect(log.at(-1)).toMatchObject({ status: 'success', answer: 'Fine.' });
  });

  it('time_budget stops tools that are running', async () => {
    const input = looping([call('tools.act', { do: 'hang' })]);
    const log = await world.run('test.agent', input, { limits: { run: { time_budget: '1s' } } });
    expectSynthesis(log, 'time_budget');
    expect(ofType(log, 'tool_result')).toMatchObject([{ status: 'error', failure: { kind: 'timeout' } }]);
  });

  it('time_budget stops a model call that is streaming, and keeps what it had said', async () => {
    const input = script([{ text: ['Once upon ', 'a time'], hang: true }], { text: 'That is what I have.' });
    const log = await world.run('test.agent', input, { limits: { run: { time_budget: '1s' } } });
    expectSynthesis(log, 'time_budget');
    expect(ofType(log, 'text_end')).toMatchObject([{ text: 'Once upon a time', interrupted: true }]);
  });

  it('a request can only narrow the limits of the agent', async () => {
    const log = await world.run('test.agent', oneEcho, { limits: { run: { max_steps: 1000, max_tool_calls: 2 } } });
    expectSynthesis(log, 'max_tool_calls');
  });

  it('time_budget and a synthesis pass that the vendor refuses: the run fails with what the vendor said', async () => {
    const input = script([{ tool_calls: [call('tools.act', { do: 'hang' })] }], {
      fail: { code: 'model_unauthorized' },
    });
    const log = await world.run('test.agent', input, { limits: { run: { time_budget: '1s' } } });
    expect(ofType(log, 'budget_exceeded')).toMatchObject([{ limit: 'time_budget' }]);
    expect(log.at(-1)).toMatchObject({ status: 'failed', failure: { code: 'model_unauthorized' } });
  });
});
