/** What a worker heard of a run is only believed where the server's history proves all of it. */
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { readExecution } from '../../client/execution.js';
import type { Execution } from '../../client/execution.js';
import { completedTasks } from '../../live/history.js';
import { createHeardLogs } from '../../worker/heard-logs.js';
import type { Appended } from '../../worker/tail.js';
import { script, testConfig } from '../support/test-agents.js';
import { createWorld } from '../support/world.js';
import type { World } from '../support/world.js';

let world: World;
let execution: Execution;
/** As a worker would hear it, had one task written all of it. */
let heard: Appended[];
let runId: string;
beforeAll(async () => {
  world = await createWorld(testConfig());
  const log = await world.run('test.agent', script([{ text: 'Hello.' }]));
  runId = log[0]?.run_id ?? '';
  execution = await readExecution(world.temporal, runId);
  const [task = 0, identity = ''] = [...(await completedTasks(world.temporal, execution))].at(-1) ?? [];
  expect(identity).toMatch(/^\d+@/);
  heard = log.map((event) => ({
    execution: execution.runId,
    identity,
    task,
    seq: event.seq,
    text: JSON.stringify(event),
  }));
});
afterAll(() => world.end());

async function read(events: readonly Appended[], mostChars?: number): Promise<string[] | undefined> {
  const logs = createHeardLogs(world.temporal, mostChars);
  for (const event of events) logs.appended(runId, event);
  return logs.read(runId);
}

it('is the log, where it was heard whole', async () => {
  expect(await read(heard)).toEqual(heard.map(({ text }) => text));
});

it('is the later word, where a task was done again', async () => {
  const lost = heard.slice(3).map((event) => ({ ...event, task: 1, text: '{"type":"said_before"}' }));
  expect(await read([...heard.slice(0, 3), ...lost, ...heard.slice(3)])).toEqual(heard.map(({ text }) => text));
});

it('is nothing, where a part was written by a task that was lost, or by another worker', async () => {
  const [first, ...rest] = heard as [Appended, ...Appended[]];
  expect(await read([{ ...first, task: 1 }, ...rest])).toBeUndefined();
  expect(await read([{ ...first, identity: 'another' }, ...rest])).toBeUndefined();
});

it('is nothing, where the beginning, a part or the end was not heard, or was too much to be kept', async () => {
  expect(await read(heard.slice(1))).toBeUndefined();
  expect(await read([...heard.slice(0, 2), ...heard.slice(3)])).toBeUndefined();
  expect(await read(heard.slice(0, -1))).toBeUndefined();
  expect(await read([])).toBeUndefined();
  expect(await read(heard, 100)).toBeUndefined();
});

it('is there for a moment when the run has ended, then forgotten', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const logs = createHeardLogs(world.temporal);
  for (const event of heard) logs.appended(runId, event);
  logs.forgetSoon(runId);
  vi.advanceTimersByTime(5_000);
  vi.useRealTimers();
  expect(await logs.read(runId)).toHaveLength(heard.length);
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  logs.forgetSoon(runId);
  vi.runAllTimers();
  vi.useRealTimers();
  expect(await logs.read(runId)).toBeUndefined();
});
