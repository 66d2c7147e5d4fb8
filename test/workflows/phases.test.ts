import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { call, script, testConfig } from '../support/test-agents.js';
import { createWorld, ofType, phases } from '../support/world.js';
import type { World } from '../support/world.js';

describe('the phases of a run are true on every path', () => {
  let world: World;
  beforeAll(async () => {
    world = await createWorld(testConfig());
  });
  afterAll(() => world.end());

  it('a direct answer never reports executing_tools', async () => {
    const log = await world.run('test.agent', script([{ text: 'Hello there.' }]));
    expect(phases(log)).toEqual(['prompted', 'planning', 'completed']);
    expect(log.at(-1)).toMatchObject({
      type: 'run_completed',
      status: 'success',
      phase: 'completed',
      answer: 'Hello there.',
    });
    expect(ofType(log, 'summary_final').map((event) => event.text)).toEqual(['Hello there.']);
  });

  it('an agent without tools plans and answers', async () => {
    expect(phases(await world.run('test.bare', script([{ text: 'Yes.' }])))).toEqual([
      'prompted',
      'planning',
      'completed',
    ]);
  });

  it('after tools the run is back in planning', async () => {
    const log = await world.run(
      'test.agent',
      script([
        { text: 'Let me ask.', tool_calls: [call('tools.echo', { text: 'a' }), call('tools.echo', { text: 'b' })] },
        { tool_calls: [call('tools.echo', { text: 'c' })] },
        { text: 'a, b, c' },
      ]),
    );
    expect(phases(log)).toEqual([
      'prompted',
      'planning',
      'executing_tools',
      'planning',
      'executing_tools',
      'planning',
      'completed',
    ]);
    expect(
      ofType(log, 'tool_result')
        .map((event) => event.content)
        .sort(),
    ).toEqual(['a', 'b', 'c']);
    expect(ofType(log, 'step_started').map((event) => event.step_id)).toEqual(['step_1', 'step_2', 'step_3']);
    expect(ofType(log, 'step_completed')).toHaveLength(3);
  });

  it('tool events come in order: requested, scheduled, result', async () => {
    const log = await world.run(
      'test.agent',
      script([{ tool_calls: [call('tools.echo', { text: 'x' })] }, { text: 'x' }]),
    );
    const ofCall = log.filter((event) => event.tool_call_id === 'call_1_1').map((event) => event.type);
    expect(ofCall).toEqual(['tool_requested', 'policy_decided', 'tool_scheduled', 'tool_progress', 'tool_result']);
  });

  it('a batch of invented tools only executes nothing and says so', async () => {
    const log = await world.run(
      'test.agent',
      script([{ tool_calls: [{ tool: 'make_coffee', args: {} }] }, { text: 'No coffee.' }]),
    );
    expect(phases(log)).toEqual(['prompted', 'planning', 'completed']);
    const [result] = ofType(log, 'tool_result');
    expect(result).toMatchObject({ status: 'error', name: 'make_coffee', failure: { kind: 'unavailable' } });
    expect(result).not.toHaveProperty('tool_id');
    expect(result?.content).toContain('test.tools.echo');
  });

  it('a declared synthesis pass writes the answer after planning', async () => {
    const log = await world.run('test.synthesizer', script([{ text: 'Draft.' }], { text: 'Final answer.' }));
    expect(phases(log)).toEqual(['prompted', 'planning', 'synthesizing', 'completed']);
    expect(ofType(log, 'summary_final')).toMatchObject([{ text: 'Final answer.', block_id: 'step_2.summary' }]);
    expect(ofType(log, 'text_end').map((event) => event.text)).toEqual(['Draft.']);
  });

  it('a refusal is an answer, kept as a refusal', async () => {
    const log = await world.run('test.agent', script([{ refusal: 'I will not.' }]));
    expect(ofType(log, 'text_end')).toMatchObject([{ refusal: 'I will not.', text: 'I will not.' }]);
    expect(log.at(-1)).toMatchObject({ status: 'success', answer: 'I will not.' });
  });

  it('a failed run goes to failed and explains itself', async () => {
    const log = await world.run('test.agent', script([{ fail: { code: 'model_unauthorized' } }]));
    expect(phases(log)).toEqual(['prompted', 'planning', 'failed']);
    expect(log.at(-1)).toMatchObject({
      type: 'run_completed',
      status: 'failed',
      failure: { code: 'model_unauthorized', retryable: false },
    });
  });

  it('every event carries the run and its own number', async () => {
    const log = await world.run('test.agent', script([{ thinking: 'hm', text: 'Done.' }]), { thread_id: 'thread_7' });
    log.forEach((event, index) => {
      expect(event).toMatchObject({
        seq: index,
        event_id: `${event.run_id}:${index}`,
        agent_id: 'test.agent',
        thread_id: 'thread_7',
      });
      expect(event.root_run_id).toBe(event.run_id);
    });
  });
});
