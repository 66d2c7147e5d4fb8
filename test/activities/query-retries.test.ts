/** A conversation that cannot be read: the run's debug message says why, in words, since its author reads it. */
import { Metadata, status } from '@grpc/grpc-js';
import { Client, ServiceError } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { READ_LOG, RUN_WORKFLOW } from '../../contract/names.js';
import { withRetries } from '../../activities/query-retries.js';

/** As activities have it. */
let client: Client;
let connection: NativeConnection;
beforeAll(async () => {
  connection = await NativeConnection.connect({ address: inject('temporalAddress') });
  client = new Client({ connection });
});
afterAll(() => connection.close());

function failure(code: number, details: string): Error {
  const cause = Object.assign(new Error(`${code} ${status[code]}: ${details}`), {
    code,
    details,
    metadata: new Metadata(),
  });
  return new ServiceError('Failed to query Workflow', { cause });
}

describe('a conversation that cannot be read', () => {
  it.each([
    [failure(status.DEADLINE_EXCEEDED, 'Deadline exceeded after 0.000s,LB pick: 0.001s'), 'the time for it ran out'],
    [failure(status.UNAVAILABLE, 'connect ECONNREFUSED 127.0.0.1:7233'), 'nothing listens at its address'],
    [new Error('EarlyEvents: ask again in a moment'), 'EarlyEvents: ask again in a moment'],
  ])('because of %s is told in words', async (error, words) => {
    const read = withRetries(client, 'the conversation', () => Promise.reject(error), [1_000]);
    await expect(read).rejects.toMatchObject({ code: 'server_unreachable', cause: error });
    const message = await read.catch((why: Error) => why.message);
    expect(message).toContain(`could not be read from the workflow, in 1 tries: ${words}.`);
    expect(message).not.toMatch(/ServiceError|Error:|DEADLINE|UNAVAILABLE|Deadline exceeded|ECONNREFUSED/);
  });
});

it('a query that is lost is asked again', async () => {
  const workflowId = `unheard-${randomUUID()}`;
  // No worker is there.
  const handle = await client.workflow.start(RUN_WORKFLOW, { workflowId, taskQueue: workflowId, args: [{}] });
  let asked = 0;
  const read = withRetries(
    client,
    'the log',
    () => {
      asked += 1;
      return asked === 3 ? Promise.resolve('an answer') : handle.query(READ_LOG, { from: 0 });
    },
    [200, 200, 200],
  );
  expect(await read).toBe('an answer');
  await handle.terminate();
});
