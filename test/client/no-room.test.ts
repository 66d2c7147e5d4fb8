/** What becomes of a command for which the server has no room, or of which the workers are older: its sender waits. */
import { InterceptingCall, status as grpcStatus } from '@grpc/grpc-js';
import type { Interceptor } from '@grpc/grpc-js';
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createClient } from '../../client/index.js';
import type { PerdureClient } from '../../client/index.js';
import { CALL_INTERCEPTORS } from '../../worker/call-retries.js';
import { script, testConfig } from '../support/test-agents.js';
import { createWorld } from '../support/world.js';
import type { World } from '../support/world.js';

const NO_ROOM = { code: grpcStatus.RESOURCE_EXHAUSTED, details: 'limit on number of concurrent in-flight updates' };
const USED_UP = { code: grpcStatus.FAILED_PRECONDITION, details: 'The limit on the total number of distinct updates' };
const UNKNOWN_QUERY = { code: grpcStatus.INVALID_ARGUMENT, details: 'did not register a handler for read_outcome' };

const BROKEN = { code: grpcStatus.INTERNAL, details: 'as the test wants it' };

/** By the last part of the call's name. */
let failing: Record<string, { code: number; details: string }> = {};
/** The first call of that name after another one. */
let failOnce: { after: string; name: string; failure: { code: number; details: string } } | undefined;
let calls: string[] = [];
let world: World;
let connection: Connection;
let client: PerdureClient;

/** A call that is to fail does not reach the server. */
const interceptor: Interceptor = (options, nextCall) => {
  const name = options.method_definition.path.split('/').at(-1) ?? '';
  calls.push(name);
  const isOnce = failOnce?.name === name && calls.includes(failOnce.after);
  const failure = isOnce ? failOnce?.failure : failing[name];
  if (isOnce) failOnce = undefined;
  if (failure === undefined) return new InterceptingCall(nextCall(options));
  const nothing = () => {};
  const start: InterceptingCall['start'] = (metadata, listener) => {
    listener?.onReceiveMessage?.(null);
    listener?.onReceiveStatus?.({ ...failure, metadata });
  };
  const sending = { sendMessage: nothing, sendMessageWithContext: nothing, halfClose: nothing };
  const failed = { start, ...sending, startRead: nothing, cancelWithStatus: nothing };
  return failed as unknown as InterceptingCall;
};

beforeAll(async () => {
  world = await createWorld(testConfig());
  connection = await Connection.connect({
    ...world.server.connection,
    interceptors: [...CALL_INTERCEPTORS, interceptor],
  });
  client = createClient({ client: new Client({ connection }), taskQueue: world.server.taskQueue });
});
afterAll(async () => {
  await client.close();
  await connection.close();
  await world.end();
});
beforeEach(() => {
  failing = {};
  failOnce = undefined;
  calls = [];
});

async function openTurn(): Promise<string> {
  const messages = [script([{ text: ['well'], hang: true }])];
  return (await client.threads.start({ agent_id: 'test.agent', messages })).thread_id;
}

describe('a command', () => {
  it('for which there is no room is refused after a few tries, with a time to wait', async () => {
    const threadId = await openTurn();
    failing = { UpdateWorkflowExecution: NO_ROOM };
    const sent = client.threads.send(threadId, { message: 'more', on_busy: 'enqueue' });
    await expect(sent).rejects.toMatchObject({ code: 'rate_limited', retry_after_ms: expect.any(Number) });
    expect(calls.filter((name) => name === 'UpdateWorkflowExecution')).toHaveLength(3);
    failing = {};
    await client.threads.delete(threadId);
  });

  it('that would have to go as a signal waits where the workers know of no such thing', async () => {
    const threadId = await openTurn();
    failing = { UpdateWorkflowExecution: USED_UP, QueryWorkflow: UNKNOWN_QUERY };
    const sent = client.threads.send(threadId, { message: 'more', on_busy: 'enqueue' });
    await expect(sent).rejects.toMatchObject({ code: 'rate_limited', retry_after_ms: expect.any(Number) });
    expect(calls).not.toContain('SignalWorkflowExecution');
    failing = {};
    expect((await client.threads.header(threadId)).queued).toBe(0);
    await client.threads.delete(threadId);
  });

  it('that went as a signal is not refused because it was slow to be read what became of it', async () => {
    const threadId = await openTurn();
    failing = { UpdateWorkflowExecution: USED_UP };
    failOnce = { after: 'SignalWorkflowExecution', name: 'QueryWorkflow', failure: BROKEN };
    const sent = await client.threads.send(threadId, { message: 'more', on_busy: 'enqueue' });
    expect(sent).toMatchObject({ state: 'queued', ahead: 0 });
    expect(failOnce).toBeUndefined();
    expect(calls.filter((name) => name === 'SignalWorkflowExecution')).toHaveLength(1);
    failing = {};
    expect((await client.threads.header(threadId)).queued).toBe(1);
    await client.threads.delete(threadId);
  });

  it('to stop a run goes as a signal, and the run stops', async () => {
    const { run_id } = await client.runs.start({
      agent_id: 'test.agent',
      input: script([{ text: ['well'], hang: true }]),
    });
    failing = { UpdateWorkflowExecution: NO_ROOM };
    await client.runs.cancel(run_id);
    expect((await world.logOf(run_id)).at(-1)).toMatchObject({ type: 'run_completed', status: 'canceled' });
  });
});
