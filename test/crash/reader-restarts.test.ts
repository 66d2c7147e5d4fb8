/** A reader in the middle of a run, while workers come and go and the run continues as new. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { WorkflowHandle } from '@temporalio/client';
import { describe, expect, inject, it } from 'vitest';
import type { LiveEvent } from '../../contract/live-events.js';
import { READ_LOG } from '../../contract/names.js';
import type { LogPage, LogPageRequest } from '../../contract/queries.js';
import { call, script } from '../support/test-agents.js';
import { collect, durable, isCalling, ofType, phases } from '../support/world.js';
import { createCrashWorld, eventually, TEST_TIMEOUT_MS } from './crash-world.js';
import type { CrashWorld } from './crash-world.js';
import { expectSameEvents, expectWholeStory, shownOf, unknownCalls } from './same-story.js';

const words = (name: string, count: number) => Array.from({ length: count }, (_, n) => `${name}${n} `);

/** Each has a queue and workers of its own: mostly they wait, so they wait together. */
describe.concurrent('a reader in the middle of a run', { timeout: TEST_TIMEOUT_MS }, () => {
  async function newWorld(onTestFinished: (end: () => Promise<void>) => void): Promise<CrashWorld> {
    const world = await createCrashWorld(inject('temporalAddress'));
    onTestFinished(() => world.end());
    return world;
  }

  it('goes on over a restart, continue-as-new and a time without any worker', async ({ onTestFinished }) => {
    const world = await newWorld(onTestFinished);
    const runtime = { continue_as_new_after_events: 25 };
    const gates = [join(world.dataDir, 'gate-1'), join(world.dataDir, 'gate-2')] as const;
    const open = (gate: string) => writeFile(gate, '');
    const first = await world.startWorker(runtime);
    // Steps 3 and 7 wait at a gate, the others find theirs open.
    const turns = Array.from({ length: 10 }, (_, n) => ({
      text: words(`s${n}w`, 6),
      delay_ms: 40,
      tool_calls: [call('patient.await_file', { path: n === 2 ? gates[0] : n === 6 ? gates[1] : world.dataDir })],
    }));
    const reader = await world.read('test.patient', script([...turns, { text: words('end', 20), delay_ms: 60 }]));
    const handle = world.temporal.workflow.getHandle(reader.runId);
    const executions = new Set<string>();
    const note = async () => executions.add((await handle.describe()).runId);
    const waitsAt = (callId: string) =>
      reader.events.some((event) => event.type === 'tool_scheduled' && event.tool_call_id === callId);

    await eventually(() => waitsAt('call_3_1'), 'the first gate');
    await note();
    // A restart: the next worker is there before this one has gone, and this one may end what it has begun.
    const second = await world.startWorker(runtime);
    first.kill('SIGTERM');
    await open(gates[0]);
    expect(await first.exited).toEqual({ code: 0, signal: null });
    await eventually(() => waitsAt('call_7_1'), 'the second gate');
    await note();

    second.kill('SIGKILL');
    await second.exited;
    await expect(world.client.runs.get(reader.runId)).rejects.toMatchObject({ code: 'server_unreachable' });
    await open(gates[1]);
    await world.startWorker(runtime);
    await reader.done;
    await note();

    const log = expectWholeStory(reader);
    expect(log.at(-1)).toMatchObject({ status: 'success', usage: { model_calls: 11, tool_calls: 10 } });
    expect(log.at(-1)).toMatchObject({ answer: words('end', 20).join('') });
    expect(ofType(log, 'tool_result').map((event) => event.content)).toEqual(Array(10).fill('there it is'));
    expect(executions.size).toBeGreaterThan(1);
    expectSameEvents(await world.logOf(reader.runId), log);
  });

  it('gets live text after continue-as-new from its first word, also if it last asked before', async ({
    onTestFinished,
  }) => {
    const world = await newWorld(onTestFinished);
    await world.startWorker({ continue_as_new_after_events: 10 });
    const path = join(world.dataDir, 'slow');
    const tool_calls = [call('effects.write_again', { path, line: 'x', ms: 1_500 })];
    const input = script([
      { text: words('first', 20), delay_ms: 40, tool_calls },
      { text: words('second', 40), delay_ms: 60 },
    ]);
    const reader = await world.read('test.agent', input);
    const handle = world.temporal.workflow.getHandle(reader.runId);
    const ask = (live_from: number) => handle.query<LogPage, [LogPageRequest]>(READ_LOG, { from: 0, live_from });
    await eventually(() => reader.events.some((event) => event.type === 'tool_scheduled'), 'the tool');
    const { live_next } = await ask(0);
    expect(live_next).toBeGreaterThan(1);

    await eventually(() => shownOf(reader, 'step_2.block_1', 1).length > 30, 'the second text');
    const { live } = await ask(live_next);
    const shown = live.flatMap((event) => (event.type === 'text_chunk' ? [event.text] : []));
    expect(shown.join('')).toMatch(/^second0 second1 /);
    await reader.done;
    expectWholeStory(reader);
    const [started] = (await handle.fetchHistory()).events ?? [];
    expect(started?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId).toBeTruthy();
  });

  it('sees work given away by a worker that stops on SIGTERM, which is not a cancel', async ({ onTestFinished }) => {
    const world = await newWorld(onTestFinished);
    const first = await world.startWorker();
    const hanging = { text: ['I am ', 'thinking', '.'], attempts: [{ hang: true as const }, {}] };
    const model = await world.read('test.patient', script([hanging]));
    const waits = (tool: string) => script([{ tool_calls: [call(tool, {})] }, { text: 'Done.' }]);
    const repeatable = await world.read('test.patient', waits('patient.wait'));
    const once = await world.read('test.patient', waits('patient.wait_once'));
    await eventually(() => shownOf(model, 'step_1.block_1', 1) === 'I am thinking.', 'the hanging model call');
    await eventually(
      async () => (await isCalling(world.temporal, repeatable.runId)) && (await isCalling(world.temporal, once.runId)),
      'the waiting tools',
    );

    first.kill('SIGTERM');
    await world.startWorker();
    expect(await first.exited).toEqual({ code: 0, signal: null });
    await Promise.all([model.done, repeatable.done, once.done]);

    const answered = expectWholeStory(model);
    expect(answered.at(-1)).toMatchObject({ status: 'success', answer: 'I am thinking.' });
    expect(phases(answered)).toEqual(['prompted', 'planning', 'completed']);
    expect(ofType(answered, 'text_end')).toMatchObject([{ attempt: 2 }]);
    expect(ofType(answered, 'attempt_retracted')).toMatchObject([{ attempt: 1 }]);
    const repeated = expectWholeStory(repeatable);
    expect(ofType(repeated, 'tool_result')).toMatchObject([{ status: 'success', content: 'attempt 2 was quick' }]);
    expect(ofType(repeated, 'tool_retry')).toMatchObject([{ reason: expect.stringContaining('shutting down') }]);
    const unknown = expectWholeStory(once);
    expect(unknownCalls(unknown)).toEqual(['call_1_1']);
    expect(unknown.at(-1)).toMatchObject({ status: 'success' });
  });

  it('hears nothing more of an attempt that was given up, though its worker wakes up again', async ({
    onTestFinished,
  }) => {
    const world = await newWorld(onTestFinished);
    const workers = [await world.startWorker(), await world.startWorker()];
    const text = words('w', 150);
    const attempts = [{ delay_ms: 400 }, { delay_ms: 40 }];
    const reader = await world.read('test.agent', script([{ text, attempts }]));
    const shown = (attempt: number) => shownOf(reader, 'step_1.block_1', attempt);
    await eventually(() => shown(1) !== '', 'the first words');
    const handle = world.temporal.workflow.getHandle(reader.runId);
    const identity = (await handle.describe()).raw.pendingActivities?.[0]?.lastWorkerIdentity ?? '';
    const holder = workers.find((worker) => identity.startsWith(`${worker.pid}@`)) ?? expect.fail(identity);
    // It takes no more work, so that nothing else is lost in it; then it stands still in the middle of this one.
    holder.kill('SIGTERM');
    const heard = shown(1).length;
    await eventually(() => shown(1).length > heard, 'more words');
    holder.kill('SIGSTOP');
    await eventually(() => shown(2) !== '', 'the first words of the second attempt');
    holder.kill('SIGCONT');
    // A machine that is very slow may have used up the time that a stopping worker gives its work.
    let hasGone = false;
    void holder.exited.then(() => (hasGone = true));
    const spoken = async () => attemptsOf(await handle.fetchHistory()).join('');
    await eventually(async () => hasGone || (await spoken()).includes('21'), 'words of the dead attempt');
    const late = await collect((await world.connect()).runs.stream(reader.runId));
    await reader.done;

    const log = expectWholeStory(reader);
    expect(ofType(log, 'text_end')).toMatchObject([{ attempt: 2, text: text.join('') }]);
    const shownLate = late.flatMap((event) => (event.type === 'text_chunk' ? [event] : []));
    expect(shownLate.filter((event) => event.attempt !== 2)).toEqual([]);
    expect(text.join('').startsWith(shownLate.map((event) => event.text).join(''))).toBe(true);
    expectSameEvents(durable(late), log);
    expect(await holder.exited).toEqual({ code: 0, signal: null });
  });
});

/** The attempts of the chunks that came into the run by signal, in their order. */
function attemptsOf({ events }: Awaited<ReturnType<WorkflowHandle['fetchHistory']>>): number[] {
  return (events ?? []).flatMap((event) => {
    const data = event.workflowExecutionSignaledEventAttributes?.input?.payloads?.[0]?.data;
    const live = data == null ? [] : (JSON.parse(new TextDecoder().decode(data)) as LiveEvent[]);
    return live.flatMap((said) => (said.type === 'text_chunk' ? [said.attempt] : []));
  });
}
