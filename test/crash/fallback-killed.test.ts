/** A worker that dies while a chain of model profiles is on its way: the next one goes on where the chain was. */
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { Turn } from '../../providers/index.js';
import { script } from '../support/test-agents.js';
import type { WorkerProcess } from '../support/worker-process.js';
import { ofType } from '../support/world.js';
import { createCrashWorld, eventually, TEST_TIMEOUT_MS } from './crash-world.js';
import type { CrashWorld } from './crash-world.js';
import { expectSameEvents, expectWholeStory, shownOf } from './same-story.js';

const words = Array.from({ length: 30 }, (_, n) => `word${n} `);
const overloaded = { fail: { code: 'model_overloaded' as const } };
const BLOCK = 'step_1.block_1';
/** The agent's own profile has two attempts, then the profile `script` has two. */
const runtime = { model_max_attempts: 2, heartbeat_timeout: '3s' };

describe('a worker killed with SIGKILL', { timeout: TEST_TIMEOUT_MS }, () => {
  let world: CrashWorld;
  let worker: WorkerProcess;
  beforeAll(async () => {
    world = await createCrashWorld(inject('temporalAddress'));
    worker = await world.startWorker(runtime);
  }, TEST_TIMEOUT_MS);
  afterAll(() => world.end());

  /** Plays the turn, and kills the worker when the attempt has said a third of its text. */
  async function crashIn(attempt: number, turn: Turn) {
    const reader = await world.read('test.chained', script([turn]));
    await eventually(
      () => shownOf(reader, BLOCK, attempt).length >= words.join('').length / 3,
      'the moment of the crash',
    );
    worker.kill('SIGKILL');
    expect(await worker.exited).toEqual({ code: null, signal: 'SIGKILL' });
    worker = await world.startWorker(runtime);
    await reader.done;
    const log = expectWholeStory(reader);
    expectSameEvents(await world.logOf(reader.runId), log);
    expect(log.at(-1)).toMatchObject({ status: 'success', answer: words.join('') });
    return { reader, log };
  }

  it('in the middle of the answer of the profile that was fallen back on: that one is asked again', async () => {
    const { reader, log } = await crashIn(3, { text: words, delay_ms: 150, attempts: [overloaded, overloaded, {}] });
    expect(ofType(log, 'model_fallback')).toMatchObject([
      { from: 'frail', to: 'script', reason: 'model_overloaded', attempt: 3, step_id: 'step_1' },
    ]);
    expect(ofType(log, 'text_end')).toMatchObject([{ attempt: 4 }]);
    expect(ofType(log, 'usage_recorded')).toMatchObject([{ usage: { model: 'scripted-1' } }]);
    const retracted = reader.events.filter((event) => event.type === 'attempt_retracted' && !('seq' in event));
    expect(retracted.map((event) => 'attempt' in event && event.attempt)).toEqual([1, 2, 3]);
  });

  it('in the last attempt at the first profile: the next one is asked, and the log says that the worker was lost', async () => {
    const { log } = await crashIn(2, { text: words, delay_ms: 60, attempts: [overloaded, {}, {}] });
    expect(ofType(log, 'model_fallback')).toMatchObject([
      { from: 'frail', to: 'script', reason: 'worker_lost', attempt: 3 },
    ]);
    expect(ofType(log, 'text_end')).toMatchObject([{ attempt: 3 }]);
    expect(ofType(log, 'usage_recorded')).toMatchObject([{ usage: { model: 'scripted-1' } }]);
  });
});
