/** A worker that the SDK has damaged is replaced, under the runs that it works on. See docs/queries.md. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { freshPollers } from '../../client/worker-polls.js';
import { defineAgent, defineTool } from '../../kit/index.js';
import { keepPolling } from '../../worker/keep-polling.js';
import type { PollingWorker } from '../../worker/keep-polling.js';
import { readCoreLine } from '../../worker/lost-activation.js';
import { call, script, testConfig } from '../support/test-agents.js';
import { createWorld, ofType, until } from '../support/world.js';
import type { World } from '../support/world.js';

let world: World;
let open: () => void = () => {};
const gate = new Promise<void>((resolve) => (open = resolve));
const wait = defineTool({
  tool_id: 'test.gate.wait',
  description: 'Waits until the gate is open.',
  input: z.object({}),
  timeout: 60_000,
  run: () => gate.then(() => 'It is open.'),
});
beforeAll(async () => {
  const config = testConfig();
  const gated = defineAgent({ agent_id: 'test.gated', instructions: 'Follow the script.', tools: [wait] });
  world = await createWorld({ ...config, agents: [...config.agents, gated] });
});
afterAll(() => world.end());

async function identitiesOf(runId: string): Promise<string[]> {
  const { events } = await world.temporal.workflow.getHandle(runId).fetchHistory();
  return (events ?? []).flatMap((event) => event.workflowTaskCompletedEventAttributes?.identity ?? []);
}

it('a run goes on with the new worker, and what the old one had begun is finished', async () => {
  const { runs } = world.client;
  const turns = [{ tool_calls: [call('gate.wait', {})] }, { text: 'Done.' }];
  const { run_id } = await runs.start({ agent_id: 'test.gated', input: script(turns) });
  const began = async () => {
    for await (const event of runs.stream(run_id, { follow: false })) if (event.type === 'tool_scheduled') return true;
    return false;
  };
  await until(began, 'the tool to run');
  // As the core says it, among other things.
  readCoreLine('Extra buffered run should not have produced an activation');
  const pollers = () => freshPollers(world.temporal, world.server.taskQueue);
  await until(async () => (await pollers()).length === 2, 'the new worker to poll');
  open();
  const log = await world.logOf(run_id);
  expect(ofType(log, 'run_completed')).toMatchObject([{ status: 'success', answer: 'Done.' }]);
  expect(ofType(log, 'tool_result')).toMatchObject([{ status: 'success', attempts: 1 }]);
  const identities = new Set(await identitiesOf(run_id));
  expect(identities.size).toBe(2);

  const after = await world.run('test.agent', script([{ text: 'Next.' }]));
  expect(after.at(-1)).toMatchObject({ type: 'run_completed', status: 'success' });
  const [next] = await identitiesOf(after[0]?.run_id ?? '');
  expect([...identities].at(-1)).toBe(next);
});

it('lines that say nothing of it change nothing', async () => {
  readCoreLine('Failing workflow task');
  const log = await world.run('test.agent', script([{ text: 'Still there.' }]));
  expect(new Set(await identitiesOf(log[0]?.run_id ?? '')).size).toBe(1);
});

/** Stands in for the SDK's worker, which ends as it is told. */
function standIn() {
  let state = 'INITIALIZED';
  let end: (error?: Error) => void = () => {};
  const threads = { ended: 0 };
  const terminate = async () => (threads.ended += 1);
  const worker = {
    run: () =>
      new Promise<void>((resolve, reject) => {
        state = 'RUNNING';
        end = (error) => (error === undefined ? resolve() : reject(error));
      }),
    getState: () => state,
    shutdown: () => (state = 'STOPPING'),
    workflowCreator: { workerThreadClients: [{ workerThread: { terminate } }] },
  };
  const polling = { worker, connection: { close: async () => {} } } as unknown as PollingWorker;
  return { polling, threads, end: (error?: Error) => end(error), state: () => state };
}

/** Seen of the SDK under load, 30 s after the worker was replaced: it ended the process. */
const UNDISPOSED = new Error('Workflow execution context should have been disposed first');

it('a damaged worker that cannot be ended well takes nothing with it, and leaves no thread', async () => {
  const [damaged, next] = [standIn(), standIn()];
  const made = [damaged, next];
  const lines: string[] = [];
  const kept = await keepPolling(
    async () => made.shift()!.polling,
    (line) => void lines.push(line),
  );
  readCoreLine('Extra buffered run should not have produced an activation');
  await until(() => damaged.state() === 'STOPPING' && next.state() === 'RUNNING', 'the new worker');
  damaged.end(UNDISPOSED);
  await until(() => damaged.threads.ended === 1, 'its threads to end');
  expect(lines.at(-1)).toBe(`the worker that was replaced has ended: ${UNDISPOSED.message}`);
  expect(next.state()).toBe('RUNNING');
  const stopping = kept.stop();
  next.end();
  await stopping;
  await kept.stopped;
});

it('a worker that ends with an error and was not replaced ends the polling with it', async () => {
  const only = standIn();
  const kept = await keepPolling(
    async () => only.polling,
    () => {},
  );
  only.end(UNDISPOSED);
  await expect(kept.stopped).rejects.toThrow(UNDISPOSED.message);
});
