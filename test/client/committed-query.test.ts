/** A query's answer is shown only when the server has the task as completed after which it was made. */
import { Metadata, status } from '@grpc/grpc-js';
import { QueryNotRegisteredError, ServiceError } from '@temporalio/client';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { queryCommitted } from '../../client/committed-query.js';
import { EARLY_EVENTS } from '../../contract/names.js';
import type { AsOf } from '../../contract/queries.js';
import { createFakeServer } from '../support/fake-history.js';
import type { FakeServer } from '../support/fake-history.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

interface Answer extends AsOf {
  text: string;
}

let server: FakeServer;
beforeEach(() => {
  server = createFakeServer();
  server.addTask({ completed: 'a worker' });
});

/** Plays the time that the asking takes. */
async function ask(): Promise<Answer> {
  const answer = queryCommitted<Answer, object>(server.client, 'run-1', 'read_log', {});
  answer.catch(() => {});
  await vi.runAllTimersAsync();
  return answer;
}

it('is given at once where nothing is to be done, and the history is not read for it', async () => {
  server.answers = [() => ({ text: 'this', as_of: 2 })];
  expect(await ask()).toEqual({ text: 'this', as_of: 2 });
  expect(server.asked).toEqual({ queries: 1, describes: 1, pages: [] });
});

it('waits for a task that is open: what it was made from may never be', async () => {
  const task = server.addTask();
  server.hasTask = true;
  server.answers = [
    () => ({ text: 'early', as_of: task }),
    () => {
      server.endTask({ completed: 'another worker' });
      server.hasTask = false;
      return { text: 'committed', as_of: task };
    },
  ];
  expect(await ask()).toMatchObject({ text: 'committed' });
  expect(server.asked.queries).toBe(2);
});

it.each([
  ['failed', { failed: true }],
  ['timed out', { timedOut: true }],
] as const)('is thrown away where its task %s, and asked for again', async (_how, end) => {
  const lost = server.addTask();
  server.hasTask = true;
  server.answers = [
    () => {
      server.endTask(end);
      return { text: 'of the lost task', as_of: lost };
    },
    () => {
      const task = server.addTask({ completed: 'another worker' });
      server.hasTask = false;
      return { text: 'of the next one', as_of: task };
    },
  ];
  expect(await ask()).toMatchObject({ text: 'of the next one' });
});

it('is given where its task was completed meanwhile, by whichever worker', async () => {
  server.addSignal();
  server.hasTask = true;
  server.answers = [() => ({ text: 'this', as_of: server.addTask({ completed: 'another worker' }) })];
  expect(await ask()).toMatchObject({ text: 'this' });
  expect(server.asked.queries).toBe(1);
});

it('is given where a task only refused an update, which leaves no trace', async () => {
  server.answers = [() => ({ text: 'this', as_of: 7 })];
  expect(await ask()).toMatchObject({ text: 'this' });
  expect(server.asked.describes).toBe(2);
});

it('is not given where something has happened since that could have been handled early', async () => {
  server.answers = [
    () => {
      server.addSignal();
      return { text: 'early', as_of: 7 };
    },
    () => ({ text: 'committed', as_of: server.addTask({ completed: 'a worker' }) }),
  ];
  expect(await ask()).toMatchObject({ text: 'committed' });
});

it('is asked for again where it was refused for the moment', async () => {
  server.answers = [
    () => {
      throw new QueryNotRegisteredError(`${EARLY_EVENTS}: ask again`, 3);
    },
    () => ({ text: 'this', as_of: 2 }),
  ];
  expect(await ask()).toMatchObject({ text: 'this' });
});

it.each([
  ['the client', status.DEADLINE_EXCEEDED],
  ['the server', status.CANCELLED],
])('is asked for again where %s gave up first when its time had run out', async (_who, code) => {
  const late = Object.assign(new Error('late'), { code, details: 'late', metadata: new Metadata() });
  server.answers = [
    () => {
      throw new ServiceError('Failed to query Workflow', { cause: late });
    },
    () => ({ text: 'this', as_of: 2 }),
  ];
  expect(await ask()).toMatchObject({ text: 'this' });
});

it('of a workflow that is over is given as it is', async () => {
  server.isOpen = false;
  server.answers = [() => ({ text: 'the end', as_of: 99 })];
  expect(await ask()).toMatchObject({ text: 'the end' });
});

it('of a workflow that is over has time for the replay of a long history, in the first try already', async () => {
  server.isOpen = false;
  server.answers = [() => ({ text: 'the end' })];
  await ask();
  server.historyBytes = 2_000_000;
  await ask();
  const [short = 0, long = 0] = server.limits;
  expect(short).toBe(1_000);
  expect(long).toBeGreaterThan(3 * short);
});

it('is given up, with the reason, where no worker completes the task', async () => {
  const task = server.addTask();
  server.hasTask = true;
  server.answers = [() => ({ text: 'early', as_of: task })];
  await expect(ask()).rejects.toMatchObject({
    code: 'server_unreachable',
    message: expect.stringContaining('its workflow task is pending') as string,
  });
});
