import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defineAgent } from '../../kit/index.js';
import { scripted } from '../../providers/index.js';
import { call, script, testConfig } from '../support/test-agents.js';
import { createWorld, ofType } from '../support/world.js';
import type { World } from '../support/world.js';

/** Bytes of each model activity's input, as history has it. */
async function modelInputs(world: World, runId: string): Promise<number[]> {
  const history = await world.temporal.workflow.getHandle(runId).fetchHistory();
  return (history.events ?? []).flatMap((event) => {
    const scheduled = event.activityTaskScheduledEventAttributes;
    if (scheduled?.activityType?.name !== 'callModel') return [];
    return [(scheduled.input?.payloads ?? []).reduce((sum, payload) => sum + (payload.data?.length ?? 0), 0)];
  });
}

const conversation = (calls: number) => {
  const text = 'All work and no play makes for a long conversation. '.repeat(40);
  const turns = Array.from({ length: calls - 1 }, (_, n) => ({
    text,
    tool_calls: [call('tools.echo', { text: `${n}` })],
  }));
  return script([...turns, { text: 'the end' }]);
};

describe('the context of a model call', () => {
  const worlds: World[] = [];
  const inWorld = async (...options: Parameters<typeof createWorld>) => {
    const world = await createWorld(...options);
    worlds.push(world);
    return world;
  };
  let cached: World;
  beforeAll(async () => {
    cached = await inWorld(testConfig());
  });
  afterAll(async () => {
    await Promise.all(worlds.map((world) => world.end()));
  });

  it('does not grow with the conversation: only what is new is in the activity’s input', async () => {
    const { run_id } = await cached.client.runs.start({ agent_id: 'test.agent', input: conversation(20) });
    expect((await cached.logOf(run_id)).at(-1)).toMatchObject({ status: 'success' });
    const inputs = (await modelInputs(cached, run_id)).slice(1);
    expect(inputs).toHaveLength(19);
    expect(Math.max(...inputs)).toBeLessThan(Math.min(...inputs) * 1.2);
  });

  it('is the same with the worker’s cache switched off: the history gives it', async () => {
    const uncached = await inWorld(testConfig({ context_cache_runs: 0 }));
    const strip = (events: Awaited<ReturnType<World['run']>>) =>
      events.map(({ type, step_id, ...event }) => ({ type, step_id, text: 'text' in event ? event.text : undefined }));
    const input = conversation(8);
    expect(strip(await uncached.run('test.agent', input))).toEqual(strip(await cached.run('test.agent', input)));
  });

  it('the model reads its own calls and their results in order', async () => {
    const provider = scripted({
      turns: [
        { thinking: 'hm', text: 'Asking.', tool_calls: [{ tool: 'test.none.x', args: { a: 1 } }] },
        { text: 'ok' },
      ],
    });
    const world = await inWorld({
      models: { only: { provider, model: 'scripted-1' } },
      agents: [defineAgent({ agent_id: 'test.reader', instructions: 'Read.' })],
    });
    const log = await world.run('test.reader', 'hello');
    expect(provider.calls[1]?.messages).toMatchObject([
      { role: 'system', content: 'Read.' },
      { role: 'user', content: 'hello' },
      { role: 'reasoning', content: 'hm' },
      {
        role: 'assistant',
        content: 'Asking.',
        tool_calls: [{ id: 'call_1_1', function: { name: 'test.none.x', arguments: '{"a":1}' } }],
      },
      { role: 'tool', tool_call_id: 'call_1_1', tool_name: 'test.none.x', is_error: true },
    ]);
    expect(ofType(log, 'usage_recorded')).toHaveLength(2);
    provider.assertFinished();
  });

  it('a model that returns more than can be kept fails at once, with the size', async () => {
    const log = await cached.run(
      'test.agent',
      script([{ tool_calls: [call('tools.echo', { text: 'ok' })] }, { text: 'x' }]),
    );
    expect(log.at(-1)).toMatchObject({ status: 'success' });
    const provider = scripted({ turns: [{ text: ['y'.repeat(2 * 1024 * 1024)] }] });
    const world = await inWorld({
      models: { only: { provider, model: 'scripted-1' } },
      agents: [defineAgent({ agent_id: 'test.talker', instructions: 'Talk.' })],
    });
    const end = (await world.run('test.talker', 'go')).at(-1);
    expect(end).toMatchObject({
      status: 'failed',
      failure: { code: 'model_output_too_large', debug_message: expect.stringMatching(/\d{7} bytes/) },
    });
    expect(provider.calls).toHaveLength(1);
  });
});
