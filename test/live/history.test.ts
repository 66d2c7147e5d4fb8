/** What the server's own history says of a workflow task. */
import { status } from '@grpc/grpc-js';
import { expect, it } from 'vitest';
import { eventsBackwards, lastCompletedTask, taskOutcome } from '../../live/history.js';
import { createFakeServer } from '../support/fake-history.js';

const execution = { workflowId: 'run-1', runId: 'execution-1' };

it('tells a task that is open from one that was lost, and from one that was completed, with its worker', async () => {
  const server = createFakeServer();
  const outcomeOf = (task: number) => taskOutcome(server.client, execution, task);
  const failed = server.addTask({ failed: true });
  const timedOut = server.addTask({ timedOut: true });
  const completed = server.addTask({ completed: 'a worker' });
  server.addSignal();
  const open = server.addTask();
  expect(await outcomeOf(failed)).toEqual({ state: 'lost' });
  expect(await outcomeOf(timedOut)).toEqual({ state: 'lost' });
  expect(await outcomeOf(completed)).toEqual({ state: 'completed', identity: 'a worker' });
  expect(await outcomeOf(open)).toEqual({ state: 'open' });
  // The history does not go so far.
  expect(await outcomeOf(open + 7)).toEqual({ state: 'open' });
});

it('names the last task that was completed, whatever came after it', async () => {
  const server = createFakeServer();
  expect(await lastCompletedTask(server.client, execution)).toBeUndefined();
  const completed = server.addTask({ completed: 'a worker' });
  server.addTask({ timedOut: true });
  server.addSignal();
  expect(await lastCompletedTask(server.client, execution)).toBe(completed);
  for (let n = 0; n < 50; n++) server.addSignal();
  expect(await lastCompletedTask(server.client, execution)).toBe(-1);
});

it('is read from its end in pages that grow, as far as the reader wants', async () => {
  const server = createFakeServer();
  for (let n = 0; n < 60; n++) server.addTask({ completed: 'a worker' });
  const { asked } = server;
  for await (const event of eventsBackwards(server.client, execution)) if (Number(event.eventId) < 119) break;
  expect(asked.pages).toHaveLength(1);
  const ids: number[] = [];
  for await (const event of eventsBackwards(server.client, execution)) ids.push(Number(event.eventId));
  expect(ids).toEqual(Array.from({ length: 121 }, (_, n) => 121 - n));
  expect(asked.pages.length).toBeLessThan(6);
});

it('is read in smaller pages where one is more than a message may be', async () => {
  const server = createFakeServer();
  for (let n = 0; n < 20; n++) server.addTask({ completed: 'a worker' });
  server.beforePage = (size) => {
    if (size > 4)
      throw Object.assign(new Error('too large'), { code: status.RESOURCE_EXHAUSTED, details: '', metadata: {} });
  };
  const ids: number[] = [];
  for await (const event of eventsBackwards(server.client, execution)) ids.push(Number(event.eventId));
  expect(ids).toEqual(Array.from({ length: 41 }, (_, n) => 41 - n));
});
