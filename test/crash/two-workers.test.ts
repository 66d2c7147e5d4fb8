/** Model calls of one run on different workers: each reads the conversation that it has not seen by query. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { DurableEvent } from '../../contract/events.js';
import { PAGE_CHARS } from '../../contract/sizes.js';
import { call, script } from '../support/test-agents.js';
import type { WorkerProcess } from '../support/worker-process.js';
import { ofType } from '../support/world.js';
import { createCrashWorld, TEST_TIMEOUT_MS } from './crash-world.js';
import type { CrashWorld } from './crash-world.js';
import { expectSameStory } from './same-story.js';

const MODEL_CALLS = 12;
/** Two UTF-16 units per character and an odd start: a page may end inside one. */
const LONG = `x${'😀 žluťoučký kůň '.repeat(PAGE_CHARS / 8)}`;

/** Its tokens are counted from all messages of the request, so equal usage means an equal conversation. */
function conversation(ran: string): string {
  const turns = Array.from({ length: MODEL_CALLS - 1 }, (_, n) => ({
    thinking: `Thought ${n}.`,
    text: n === 2 ? LONG : `Step ${n}.`,
    tool_calls: [
      n === 4 ? call('outputs.big', { bytes: PAGE_CHARS + 4_000, ran }) : call('tools.echo', { text: `${n}` }),
    ],
    expect: { tool_results: n === 0 ? 0 : 1 },
  }));
  return script([...turns, { text: 'The end.' }]);
}

describe('two worker processes on one queue', { timeout: TEST_TIMEOUT_MS }, () => {
  let world: CrashWorld;
  let input: string;
  let alone: DurableEvent[];

  beforeAll(async () => {
    world = await createCrashWorld(inject('temporalAddress'));
    const ran = join(world.dataDir, 'ran');
    input = conversation(ran);
    expect(JSON.stringify({ role: 'assistant', content: LONG }).length).toBeGreaterThan(PAGE_CHARS);
    const one = await world.startWorker();
    alone = await world.run('test.agent', input);
    await dismiss([one]);
  }, TEST_TIMEOUT_MS);
  afterAll(() => world.end());

  /** Which process made each model call, by the identity that the server recorded. */
  async function callers(runId: string): Promise<number[]> {
    const { events = [] } = await world.temporal.workflow.getHandle(runId).fetchHistory();
    const calls = new Set(
      (events ?? [])
        .filter((event) => event.activityTaskScheduledEventAttributes?.activityType?.name === 'callModel')
        .map((event) => String(event.eventId)),
    );
    return (events ?? []).flatMap((event) => {
      const started = event.activityTaskStartedEventAttributes;
      return started && calls.has(String(started.scheduledEventId))
        ? [Number.parseInt(started.identity ?? '', 10)]
        : [];
    });
  }

  /** Two at once: that all their calls come to one of two waiting workers is as likely as 2^-23. */
  async function converse(pair: readonly WorkerProcess[]): Promise<number[][]> {
    const runIds = await Promise.all([1, 2].map(() => world.client.runs.start({ agent_id: 'test.agent', input })));
    for (const { run_id } of runIds) expectSameStory(await world.logOf(run_id), alone);
    const made = await Promise.all(runIds.map(({ run_id }) => callers(run_id)));
    expect(made.map((calls) => calls.length)).toEqual([MODEL_CALLS, MODEL_CALLS]);
    expect(new Set(made.flat())).toEqual(new Set(pair.map((worker) => worker.pid)));
    return made;
  }

  it('a worker alone plays the whole conversation', () => {
    expect(alone.at(-1)).toMatchObject({
      status: 'success',
      usage: { model_calls: MODEL_CALLS, tool_calls: MODEL_CALLS - 1 },
    });
    expect(ofType(alone, 'text_end')[2]?.text).toBe(LONG);
    expect(ofType(alone, 'tool_result').filter((event) => event.content.length > PAGE_CHARS)).toHaveLength(1);
  });

  it('without the prefix cache: the same log, whoever made the call', async () => {
    const pair = await Promise.all([1, 2].map(() => world.startWorker({ context_cache_runs: 0 })));
    await converse(pair);
    await dismiss(pair);
  });

  it('with it: the same log, also where a call comes back to a worker whose memory is stale', async () => {
    const pair = await Promise.all([1, 2].map(() => world.startWorker()));
    const made = await converse(pair);
    expect(made.some((calls) => cameBack(calls))).toBe(true);
    await dismiss(pair);
  });

  async function dismiss(workers: readonly WorkerProcess[]): Promise<void> {
    for (const worker of workers) worker.kill('SIGKILL');
    await Promise.all(workers.map((worker) => worker.exited));
  }
});

/** A worker made a call, then others did, then it again. */
function cameBack(calls: readonly number[]): boolean {
  return calls.some((pid, n) => pid !== calls[n - 1] && calls.slice(0, n).includes(pid));
}
