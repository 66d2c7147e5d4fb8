/** Texts of any size that are sent to a run: its log stays readable, and the worker of everybody else alive. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { ANSWER_CLARIFICATION, CANCEL, CHILD_AWAIT, DECIDE_APPROVAL } from '../../contract/names.js';
import { TEXT_LIMITS } from '../../contract/sizes.js';
import { connectClient } from '../../worker/create-worker.js';
import type { ConnectedClient } from '../../worker/create-worker.js';
import { runPath, serveFor } from '../gateway/gateway-world.js';
import type { GatewayWorld } from '../gateway/gateway-world.js';
import { createDataDir } from '../support/data-dir.js';
import { script } from '../support/test-agents.js';
import { ask, child } from '../support/tree-agents.js';
import { startWorkerProcess } from '../support/worker-process.js';
import type { WorkerProcess } from '../support/worker-process.js';
import { collect, durable, ofType, until } from '../support/world.js';

const MB = 1024 * 1024;
let worker: WorkerProcess;
let connected: ConnectedClient;
let gateway: GatewayWorld;
let exit: unknown;

beforeAll(async () => {
  const server = {
    connection: { address: inject('temporalAddress') },
    namespace: 'default',
    dataDir: await createDataDir('large'),
    taskQueue: `large-${randomUUID()}`,
  };
  // Large texts take a while on their way, and a pause must not be over when they come.
  worker = await startWorkerProcess({ server, trees: true, await_expires_in: '5m' });
  void worker.exited.then((how) => (exit = how));
  connected = await connectClient(server);
  gateway = await serveFor({ ...connected, server }, { kind: 'off' });
}, 60_000);
afterAll(async () => {
  await gateway.stop();
  worker.kill('SIGKILL');
  await worker.exited;
  await connected.close();
});

type Turns = Parameters<typeof script>[0];
const QUESTION: Turns = [{ tool_calls: [ask('Which?')] }, { text: 'ok' }];
const APPROVAL: Turns = [{ tool_calls: [{ tool: 'test.guarded.always', args: { text: 'x' } }] }, { text: 'ok' }];
const await_id = 'clarification_call_1_1';

async function pausedRun(turns = QUESTION) {
  const { runs } = connected.client;
  const { run_id } = await runs.start({ agent_id: 'test.node', input: script(turns) });
  await until(async () => (await runs.get(run_id)).awaits.length === 1, 'the pause');
  const { digest = '', ...pause } = (await runs.get(run_id)).awaits[0] ?? { await_id: '' };
  return { run_id, await_id: pause.await_id, digest, handle: connected.temporal.workflow.getHandle(run_id) };
}

const logOf = async (runId: string) => durable(await collect(connected.client.runs.stream(runId)));
const tooLarge = (field: string, bytes: number) => ({
  code: 'input_too_large',
  issues: [{ path: field, message: `has ${bytes} bytes; at most ${TEXT_LIMITS.note} can be taken` }],
});

/** Nothing was done to the run, and the worker does what it is told. */
async function expectAlive(runId: string): Promise<void> {
  await connected.client.runs.answerClarification(runId, { await_id, answer: 'this' });
  expect((await logOf(runId)).at(-1)).toMatchObject({ status: 'success', answer: 'ok' });
  expect(exit).toBeUndefined();
}

describe.each([MB, 5 * MB])('a note of %d bytes', { timeout: 120_000 }, (bytes) => {
  const note = 'x'.repeat(bytes);

  it('by HTTP is refused with its size', async () => {
    const { run_id } = await pausedRun();
    const cancel = await gateway.as().post(runPath(run_id, '/cancel'), { note });
    expect([cancel.status, cancel.body['error']]).toMatchObject([413, tooLarge('note', bytes)]);
    const decision = { await_id, decision: 'deny', digest: 'x', note };
    const denial = await gateway.as().post(runPath(run_id, '/approvals'), decision);
    expect([denial.status, denial.body['error']]).toMatchObject([413, tooLarge('note', bytes)]);
    await expectAlive(run_id);
  });

  it('by a client is refused with its size', async () => {
    const { run_id } = await pausedRun();
    await expect(connected.client.runs.cancel(run_id, { note })).rejects.toMatchObject(tooLarge('note', bytes));
    await expectAlive(run_id);
  });

  it('by an update of Temporal’s is refused with its size', async () => {
    const { run_id, handle } = await pausedRun();
    const cause = { type: 'input_too_large', message: expect.stringContaining(`note has ${bytes} bytes`) };
    await expect(handle.executeUpdate(CANCEL, { args: [{ note }] })).rejects.toMatchObject({ cause });
    await expectAlive(run_id);
  });

  it('as an answer, or as the name of who answers, by an update of Temporal’s is refused with its size', async () => {
    const { run_id, handle } = await pausedRun();
    for (const field of ['answer', 'answered_by', 'await_id']) {
      const cause = { type: 'input_too_large', message: expect.stringContaining(`${field} has ${bytes} bytes`) };
      const args: [unknown] = [{ await_id, answer: 'that', [field]: note }];
      await expect(handle.executeUpdate(ANSWER_CLARIFICATION, { args })).rejects.toMatchObject({ cause });
    }
    await expectAlive(run_id);
  });

  it('by a signal of Temporal’s is cut, and the run ends as it should', async () => {
    const { run_id, handle } = await pausedRun();
    await handle.signal(CANCEL, { note });
    const end = (await logOf(run_id)).at(-1);
    expect(end).toMatchObject({ status: 'canceled', cancellation: { reason: 'user_requested' } });
    const kept = end?.type === 'run_completed' && end.status === 'canceled' ? end.cancellation.note : undefined;
    expect(kept).toBe(`${'x'.repeat(TEXT_LIMITS.note - 3)}…`);
    expect((await connected.client.runs.get(run_id)).status).toBe('canceled');
    await expectAlive((await pausedRun()).run_id);
  });

  it('of a decision by signal is cut, and the decision counts', async () => {
    const { run_id, handle, ...pause } = await pausedRun(APPROVAL);
    await handle.signal(DECIDE_APPROVAL, { ...pause, decision: 'deny', note });
    const log = await logOf(run_id);
    expect(log.at(-1)).toMatchObject({ status: 'success', answer: 'ok' });
    const [resolved] = log.filter((event) => event.type === 'await_resolved');
    expect(resolved).toMatchObject({ resolution: 'denied', note: `${'x'.repeat(TEXT_LIMITS.note - 3)}…` });
  });

  it('as an answer, or as the name of who answers, by signal is rejected, and the run waits on', async () => {
    const { run_id, handle } = await pausedRun();
    await handle.signal(ANSWER_CLARIFICATION, { await_id, answer: note });
    await handle.signal(ANSWER_CLARIFICATION, { await_id, answer: 'that', answered_by: note });
    await handle.signal(ANSWER_CLARIFICATION, { await_id: note, answer: 'that' });
    await expectAlive(run_id);
    const rejected = ofType(await logOf(run_id), 'answer_rejected');
    expect(rejected.map((event) => event.await_id)).toEqual([await_id, await_id, undefined]);
    expect(rejected.map(({ reason }) => reason)).toEqual([
      `answer has ${bytes} bytes; at most ${TEXT_LIMITS.answer} can be taken.`,
      `answered_by has ${bytes} bytes; at most ${TEXT_LIMITS.answered_by} can be taken.`,
      `await_id has ${bytes} bytes; at most ${TEXT_LIMITS.await_id} can be taken.`,
    ]);
  });

  it('in what a child tells of its pauses is not taken, and the parent hears what comes after it', async () => {
    const { run_id, handle } = await pausedRun([{ tool_calls: [child(QUESTION)] }, { text: 'ok' }]);
    const via = `${run_id}/call_1_1`;
    const link = { run_id: via, agent_id: 'test.node', stream_key: `perdure.run.${via}` };
    const change = { link, await_id: note, kind: 'clarification', state: 'open' };
    await handle.signal(CHILD_AWAIT, { via, paused: true, changes: [change] });
    await connected.client.runs.answerClarification(via, { await_id, answer: 'this' });
    const log = await logOf(run_id);
    expect(log.at(-1)).toMatchObject({ status: 'success', answer: 'ok' });
    const changes = ofType(log, 'child_await_changed').map((event) => [event.await_id.slice(0, 100), event.state]);
    expect(changes).toEqual([
      [await_id, 'open'],
      [await_id, 'resolved'],
    ]);
    expect(exit).toBeUndefined();
  });
});
