import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { call, script, testConfig } from '../support/test-agents.js';
import { collect, createWorld, durable, isCalling, ofType, phases, until } from '../support/world.js';
import type { World } from '../support/world.js';

describe('cancel', () => {
  let world: World;
  beforeAll(async () => {
    world = await createWorld(testConfig());
  });
  afterAll(() => world.end());

  async function cancelAt(input: string, at: (type: string) => boolean, cancel?: (runId: string) => Promise<unknown>) {
    const { run_id } = await world.client.runs.start({ agent_id: 'test.agent', input });
    const seen = [];
    let asked = false;
    for await (const event of world.client.runs.stream(run_id)) {
      seen.push(event);
      if (!asked && at(event.type)) {
        asked = true;
        if (event.type === 'tool_scheduled') await until(() => isCalling(world.temporal, run_id), 'the call to begin');
        await (cancel ?? ((id) => world.client.runs.cancel(id, { reason: 'user_requested', note: 'enough' })))(run_id);
      }
    }
    return { run_id, log: durable(seen) };
  }

  const statusOf = async (runId: string) => (await world.temporal.workflow.getHandle(runId).describe()).status.name;

  it('reaches a model that is streaming, keeps what was said, and ends as Canceled in Temporal too', async () => {
    const { run_id, log } = await cancelAt(
      script([{ text: ['I was ', 'about to'], hang: true }]),
      (type) => type === 'text_chunk',
    );
    expect(log.at(-1)).toMatchObject({
      type: 'run_completed',
      status: 'canceled',
      cancellation: { reason: 'user_requested', note: 'enough' },
    });
    expect(phases(log)).toEqual(['prompted', 'planning', 'canceled']);
    const [said] = ofType(log, 'text_end');
    expect(said?.interrupted).toBe(true);
    expect('I was about to'.startsWith(said?.text ?? '?')).toBe(true);
    await expect(world.temporal.workflow.getHandle(run_id).result()).rejects.toThrow();
    expect(await statusOf(run_id)).toBe('CANCELLED');
  });

  it('reaches tools that are running; each of their calls gets its one result', async () => {
    const input = script([{ tool_calls: [call('tools.act', { do: 'hang' }), call('tools.act', { do: 'hang' })] }]);
    const { log } = await cancelAt(input, (type) => type === 'tool_scheduled');
    const kinds = ofType(log, 'tool_result').map((event) => event.status === 'error' && event.failure.kind);
    expect(kinds).toEqual(['canceled', 'canceled']);
    expect(phases(log)).toEqual(['prompted', 'planning', 'executing_tools', 'canceled']);
    expect(ofType(log, 'step_completed')).toHaveLength(1);
  });

  it('a tool that ignores its abort signal is left behind after the grace period', async () => {
    const input = script([{ tool_calls: [call('tools.act', { do: 'ignore_abort' })] }]);
    const { log } = await cancelAt(input, (type) => type === 'tool_scheduled');
    const [result] = ofType(log, 'tool_result');
    expect(result).toMatchObject({ status: 'error', failure: { kind: 'canceled' } });
    expect(result?.content).toContain('did not stop within 500 ms');
    // The tool itself would have taken 4 s: the run did not wait for it.
    expect(result?.duration_ms).toBeLessThan(3_900);
  });

  it('a bare Temporal cancel means user_requested', async () => {
    const { run_id, log } = await cancelAt(
      script([{ text: ['well'], hang: true }]),
      (type) => type === 'text_chunk',
      (id) => world.temporal.workflow.getHandle(id).cancel(),
    );
    expect(log.at(-1)).toMatchObject({ status: 'canceled', cancellation: { reason: 'user_requested' } });
    await expect(world.temporal.workflow.getHandle(run_id).result()).rejects.toThrow();
    expect(await statusOf(run_id)).toBe('CANCELLED');
  });

  it('a signal of the same name does the same', async () => {
    const { log } = await cancelAt(
      script([{ text: ['well'], hang: true }]),
      (type) => type === 'text_chunk',
      (id) => world.temporal.workflow.getHandle(id).signal('cancel', { reason: 'thread_deleted' }),
    );
    expect(log.at(-1)).toMatchObject({ status: 'canceled', cancellation: { reason: 'thread_deleted' } });
  });

  it('a signal that makes no sense still cancels, and throws nothing', async () => {
    const { log } = await cancelAt(
      script([{ text: ['well'], hang: true }]),
      (type) => type === 'text_chunk',
      (id) => world.temporal.workflow.getHandle(id).signal('cancel', 42),
    );
    expect(log.at(-1)).toMatchObject({ status: 'canceled', cancellation: { reason: 'user_requested' } });
  });

  it('an unknown reason is refused with the known ones, and nothing changes', async () => {
    const { run_id } = await world.client.runs.start({
      agent_id: 'test.agent',
      input: script([{ text: ['a'], hang: true }]),
    });
    const refused = world.client.runs.cancel(run_id, { reason: 'boredom' as 'deadline' });
    await expect(refused).rejects.toThrow(/reason "boredom" is unknown.*user_requested/);
    await world.client.runs.cancel(run_id, { reason: 'deadline' });
    await world.client.runs.cancel(run_id, { reason: 'thread_deleted' }).catch(() => {});
    expect((await world.logOf(run_id)).at(-1)).toMatchObject({ cancellation: { reason: 'deadline' } });
  });

  it('canceling a run that has ended, or that never was, says so', async () => {
    const log = await world.run('test.agent', script([{ text: 'done' }]));
    await expect(world.client.runs.cancel(log[0]!.run_id)).rejects.toMatchObject({ code: 'run_ended' });
    await expect(world.client.runs.cancel('run_that_never_was')).rejects.toMatchObject({ code: 'unknown_run' });
  });

  it('a run canceled before its first task completes as canceled', async () => {
    const queue = `nobody-${Date.now()}`;
    const handle = await world.temporal.workflow.start('agentRun', {
      workflowId: `early-${Date.now()}`,
      taskQueue: queue,
      args: [{ agent_id: 'test.agent', input: script([{ text: 'late' }]) }],
    });
    await handle.signal('cancel', { reason: 'user_requested' });
    const late = await createWorld(testConfig(), { taskQueue: queue });
    try {
      const log = durable(await collect(late.client.runs.stream(handle.workflowId)));
      expect(phases(log)).toEqual(['prompted', 'canceled']);
    } finally {
      await late.end();
    }
  });
});
