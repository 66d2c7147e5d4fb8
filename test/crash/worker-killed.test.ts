/** A worker that dies without a word, at the worst moments; another one takes over on the same queue and data. */
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { DurableEvent } from '../../contract/events.js';
import { READ_LOG } from '../../contract/names.js';
import type { LogPage, LogPageRequest } from '../../contract/queries.js';
import { call, script } from '../support/test-agents.js';
import type { WorkerProcess } from '../support/worker-process.js';
import { ofType } from '../support/world.js';
import { createCrashWorld, eventually, TEST_TIMEOUT_MS } from './crash-world.js';
import type { CrashWorld, Reader } from './crash-world.js';
import { expectSameEvents, expectSameStory, expectWholeStory, shownOf, unknownCalls } from './same-story.js';

const words = Array.from({ length: 30 }, (_, n) => `word${n} `);
/** Said of every call where a result may become unknown, which would change the size of the conversation. */
const usage = { input_tokens: 10, output_tokens: 5 };

/** What is played, left alone and with a crash. A file is named in the arguments, so both write to the same one. */
const stories = {
  model: () =>
    script([
      { text: 'First a tool.', tool_calls: [call('tools.echo', { text: 'a' })] },
      // Longer than a task waits for a worker that is gone: what the next attempt says is then told while it is said.
      { thinking: 'Now I know.', text: words, delay_ms: 150 },
    ]),
  repeatable: (file: (name: string) => string) =>
    script([
      { tool_calls: [call('effects.write_again', { path: file('again'), line: 'x', ms: 1_500 })] },
      { text: 'Written.' },
    ]),
  once: (file: (name: string) => string) =>
    script([
      { tool_calls: [call('effects.write_line', { path: file('once'), line: 'x', ms: 1_500 })], usage },
      { text: 'Perhaps written.', expect: { tool_results: 1 }, usage },
    ]),
  parallel: (file: (name: string) => string) =>
    script([
      {
        tool_calls: [
          call('tools.echo', { text: 'done' }),
          call('effects.write_line', { path: file('parallel-once'), line: 'x', ms: 1_000 }),
          call('effects.write_again', { path: file('parallel-again'), line: 'x', ms: 2_000 }),
        ],
        usage,
      },
      { text: 'All three.', expect: { tool_results: 3 }, usage },
    ]),
  boundary: () =>
    script([
      ...['a', 'b', 'c', 'd'].map((text) => ({ text: `Now ${text}.`, tool_calls: [call('tools.echo', { text })] })),
      { text: 'The end.', delay_ms: 300 },
    ]),
  waiting: () => {
    const overloaded = { fail: { code: 'model_overloaded' as const, after_deltas: 2, retry_after_ms: 2_500 } };
    return script([{ text: 'I was about to say this.', delay_ms: 50, attempts: [overloaded, {}] }]);
  },
};
type Story = keyof typeof stories;

describe('a worker killed with SIGKILL', { timeout: TEST_TIMEOUT_MS }, () => {
  let world: CrashWorld;
  let worker: WorkerProcess;
  const undisturbed = new Map<Story, DurableEvent[]>();
  const file = (name: string) => join(world.dataDir, name);
  const linesOf = async (name: string) =>
    (await readFile(file(name), 'utf8').catch(() => '')).split('\n').filter((line) => line !== '');

  beforeAll(async () => {
    world = await createCrashWorld(inject('temporalAddress'));
    worker = await world.startWorker();
    const play = async (story: Story) => undisturbed.set(story, await world.run('test.agent', stories[story](file)));
    await Promise.all((Object.keys(stories) as Story[]).map(play));
    for (const name of ['again', 'once', 'parallel-once', 'parallel-again']) {
      expect(await linesOf(name)).toEqual(['x']);
      await rm(file(name));
    }
  }, TEST_TIMEOUT_MS);
  afterAll(() => world.end());

  /** Plays the story with a crash at the given moment, watched from start to end. */
  async function crashAt(
    story: Story,
    moment: (reader: Reader) => boolean | Promise<boolean>,
  ): Promise<{ reader: Reader; log: DurableEvent[] }> {
    const reader = await world.read('test.agent', stories[story](file));
    await eventually(() => moment(reader), 'the moment of the crash');
    expect(reader.events.at(-1)?.type).not.toBe('run_completed');
    worker.kill('SIGKILL');
    expect(await worker.exited).toEqual({ code: null, signal: 'SIGKILL' });
    worker = await world.startWorker();
    await reader.done;
    const log = expectWholeStory(reader);
    expectSameStory(log, undisturbed.get(story) ?? []);
    // One who comes after it all sees the same, and nothing of a dead attempt.
    expectSameEvents(await world.logOf(reader.runId), log);
    return { reader, log };
  }

  const seen = (type: string, field: 'step_id' | 'tool_call_id', id: string) => (reader: Reader) =>
    reader.events.some((event) => event.type === type && field in event && event[field as keyof typeof event] === id);

  it('during a model call that has streamed half its text', async () => {
    const text = words.join('');
    const half = (reader: Reader) => shownOf(reader, 'step_2.block_2', 1).length >= text.length / 2;
    const { reader, log } = await crashAt('model', half);
    const dead = shownOf(reader, 'step_2.block_2', 1);
    expect(text.startsWith(dead)).toBe(true);
    expect(dead.length).toBeLessThan(text.length);
    // Told at once, live, before the first word of the next attempt; then kept.
    const retractions = reader.events.filter((event) => event.type === 'attempt_retracted');
    expect(retractions.map((event) => ['seq' in event, event.step_id, event.attempt])).toEqual([
      [false, 'step_2', 1],
      [true, 'step_2', 1],
    ]);
    expect(shownOf(reader, 'step_2.block_2', 2)).not.toBe('');
    expect(ofType(log, 'text_end').at(-1)).toMatchObject({ attempt: 2, text });
  });

  it('during a tool call that is safe to repeat', async () => {
    const { reader, log } = await crashAt('repeatable', async () => (await linesOf('again')).length === 1);
    expect(await linesOf('again')).toEqual(['x', 'x']);
    expect(ofType(log, 'tool_result')).toMatchObject([{ status: 'success', content: 'written', attempts: 2 }]);
    expect(ofType(log, 'tool_retry')).toMatchObject([{ attempt: 2, reason: 'the worker was lost' }]);
    const live = reader.events.find((event) => event.type === 'tool_retry' && !('seq' in event));
    expect(live).toMatchObject({ tool_call_id: 'call_1_1', attempt: 2 });
  });

  it('during a tool call that is not: its effect is never doubled, and the model is told', async () => {
    const { log } = await crashAt('once', async () => (await linesOf('once')).length === 1);
    expect(await linesOf('once')).toEqual(['x']);
    expect(unknownCalls(log)).toEqual(['call_1_1']);
    expect(ofType(log, 'tool_result')).toMatchObject([{ failure: { recovery: 'replan' }, attempts: 1 }]);
  });

  it('during parallel tools: one of them done, one that is safe to repeat, one that is not', async () => {
    const isFirstDone = seen('tool_result', 'tool_call_id', 'call_1_1');
    const { log } = await crashAt('parallel', async (reader) => {
      const started = [await linesOf('parallel-once'), await linesOf('parallel-again')];
      return isFirstDone(reader) && started.every((lines) => lines.length === 1);
    });
    expect(await linesOf('parallel-once')).toEqual(['x']);
    expect(await linesOf('parallel-again')).toEqual(['x', 'x']);
    expect(unknownCalls(log)).toEqual(['call_1_2']);
    expect(ofType(log, 'tool_result').map((event) => event.attempts)).toEqual([1, 1, 2]);
  });

  it('at the boundary of two steps', async () => {
    await crashAt('boundary', seen('step_completed', 'step_id', 'step_2'));
  });

  it('while nothing runs: the run waits for the next attempt of a model call', async () => {
    const { log } = await crashAt('waiting', async ({ runId }) => {
      const { raw } = await world.temporal.workflow.getHandle(runId).describe();
      return raw.pendingActivities?.some(({ attempt, lastFailure }) => attempt === 2 && lastFailure != null) ?? false;
    });
    expect(ofType(log, 'text_end')).toMatchObject([{ attempt: 2, text: 'I was about to say this.' }]);
  });

  it('while queries wait for the next worker: what it does for them can be replayed', async () => {
    await rm(file('once'), { force: true });
    const reader = await world.read('test.agent', stories.once(file));
    await eventually(async () => (await linesOf('once')).length > 0, 'the running tool');
    worker.kill('SIGKILL');
    await worker.exited;
    // Nobody answers them, so they wait on the queue, while the run's next workflow task becomes due behind them.
    const handle = world.temporal.workflow.getHandle(reader.runId);
    const ask = () => handle.query<LogPage, [LogPageRequest]>(READ_LOG, { from: 0 }).catch((error: unknown) => error);
    const waiting = Promise.all([ask(), ask()]);
    await eventually(
      async () =>
        (await handle.fetchHistory()).events?.some((event) => event.activityTaskTimedOutEventAttributes) ?? false,
      'the end of the lost call',
    );
    worker = await world.startWorker();
    await waiting;
    await reader.done;
    // What was handled early, on an older clock, must come the same when the run is replayed: it has ended, so this is.
    expectSameEvents(await world.logOf(reader.runId), expectWholeStory(reader));
  });
});
