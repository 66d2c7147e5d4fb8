/** What the tail publishes of a run, and when. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createTail } from '../../worker/tail.js';
import type { Tail } from '../../worker/tail.js';
import { createFakeServer } from '../support/fake-history.js';
import type { FakeServer } from '../support/fake-history.js';

const US = 'this worker';
let server: FakeServer;
let tail: Tail;
let isWatched: boolean;
let errors: unknown[];
let published: { texts: string[]; origin: unknown }[];

beforeEach(() => {
  vi.useFakeTimers();
  server = createFakeServer();
  [isWatched, errors, published] = [true, [], []];
  tail = createTail({
    client: server.client,
    channel: {
      watched: () => isWatched,
      publishCommitted: (_runId, events, origin) =>
        void published.push({ texts: events.map(({ text }) => text), origin }),
    },
    onError: (error) => void errors.push(error),
  });
});
afterEach(() => void vi.useRealTimers());

const append = (task: number, seq: number, text = `"event ${seq}"`) =>
  tail.appended('run-1', { execution: 'execution-1', identity: US, task, seq, text });
const texts = () => published.flatMap((each) => each.texts);
const settle = () => vi.runAllTimersAsync();

it('publishes what a task appended, with the task, when the history has it as completed by this worker', async () => {
  const task = server.addTask();
  append(task, 0);
  append(task, 1);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(published).toEqual([]);
  server.endTask({ completed: US });
  await settle();
  expect(published).toEqual([{ texts: ['"event 0"', '"event 1"'], origin: { execution: 'execution-1', task } }]);
});

it.each([
  ['failed', { failed: true }],
  ['timed out', { timedOut: true }],
  ['was completed by another worker', { completed: 'another worker' }],
] as const)('publishes nothing of a task that %s, and goes on with the next', async (_how, end) => {
  const lost = server.addTask();
  append(lost, 0, '"never so"');
  server.endTask(end);
  await settle();
  expect(published).toEqual([]);
  const task = server.addTask();
  append(task, 1, '"so"');
  server.endTask({ completed: US });
  await settle();
  expect(texts()).toEqual(['"so"']);
});

it('publishes what the second try of a task appended, and not what the first did', async () => {
  const lost = server.addTask();
  append(lost, 0, '"never so"');
  append(lost, 1, '"nor so"');
  server.endTask({ timedOut: true });
  const task = server.addTask();
  append(task, 0, '"so"');
  server.endTask({ completed: US });
  await settle();
  expect(texts()).toEqual(['"so"']);
});

it('publishes one task after another, in their order', async () => {
  const first = server.addTask({ completed: US });
  append(first, 0);
  const second = server.addTask();
  append(second, 1);
  await vi.advanceTimersByTimeAsync(500);
  expect(texts()).toEqual(['"event 0"']);
  server.endTask({ completed: US });
  await settle();
  expect(texts()).toEqual(['"event 0"', '"event 1"']);
});

it('gives up a task that nobody ends: readers find the gap', async () => {
  append(server.addTask(), 0);
  await settle();
  expect(published).toEqual([]);
});

it('asks nothing about a run that nobody watches', async () => {
  isWatched = false;
  append(server.addTask({ completed: US }), 0);
  await settle();
  expect(server.asked.pages).toEqual([]);
});

it('tells of a history that cannot be read, and publishes again when it can', async () => {
  server.beforePage = () => {
    throw new Error('the server is away');
  };
  append(server.addTask({ completed: US }), 0);
  await settle();
  expect(errors).toMatchObject([{ message: 'the server is away' }]);
  server.beforePage = () => {};
  append(server.addTask({ completed: US }), 1);
  await settle();
  expect(texts()).toEqual(['"event 1"']);
});
