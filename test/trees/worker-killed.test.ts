/** The end of a worker in the middle of a tree. */
import { createDataDir } from '../support/data-dir.js';
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { connectClient } from '../../worker/create-worker.js';
import type { ConnectedClient } from '../../worker/create-worker.js';
import { checkTree } from '../support/invariants.js';
import { script } from '../support/test-agents.js';
import { child } from '../support/tree-agents.js';
import { results, treeLogs } from '../support/tree-logs.js';
import { startWorkerProcess } from '../support/worker-process.js';
import type { WorkerProcess } from '../support/worker-process.js';
import { collect, durable, ofType, until } from '../support/world.js';

let dataDir: string;
let connected: ConnectedClient;
const workers: WorkerProcess[] = [];
const taskQueue = `test-${randomUUID()}`;

async function startOne(): Promise<WorkerProcess> {
  const server = { connection: { address: inject('temporalAddress') }, namespace: 'default', dataDir, taskQueue };
  const worker = await startWorkerProcess({ server, trees: true, runtime: { heartbeat_timeout: '2s' } });
  workers.push(worker);
  return worker;
}

beforeAll(async () => {
  dataDir = await createDataDir('killed');
  connected = await connectClient({
    connection: { address: inject('temporalAddress') },
    namespace: 'default',
    dataDir,
    taskQueue,
  });
});
afterAll(async () => {
  for (const worker of workers) worker.kill('SIGKILL');
  await connected.close();
});

it(
  'killed while three children run: another worker goes on, and each call has one result',
  { timeout: 120_000 },
  async () => {
    const first = await startOne();
    const waiting = () => child([{ tool_calls: [{ tool: 'test.patient.wait', args: {} }] }, { text: 'waited' }]);
    const { runs } = connected.client;
    const { run_id } = await runs.start({
      agent_id: 'test.node',
      input: script([{ tool_calls: [waiting(), waiting(), waiting()] }, { text: 'all there' }]),
      limits: { tree: { max_tool_calls: 20 } },
    });
    const below = [1, 2, 3].map((n) => `${run_id}/call_1_${n}`);
    for (const id of below) {
      const scheduled = async () => {
        const snapshot = await runs.get(id).catch(() => undefined);
        return snapshot?.steps[0]?.tools[0]?.state === 'scheduled';
      };
      await until(scheduled, `${id} to run its tool`);
    }
    first.kill('SIGKILL');
    await first.exited;
    await startOne();
    const logs = await treeLogs(async (id) => durable(await collect(runs.stream(id))), run_id);
    const root = logs.get(run_id)!;
    expect(results(root)).toEqual(['waited', 'waited', 'waited']);
    expect(root.at(-1)).toMatchObject({
      status: 'success',
      answer: 'all there',
      tree_usage: { tool_calls: 6, children: 3 },
    });
    for (const id of below) {
      const log = logs.get(id)!;
      expect(results(log)).toEqual(['attempt 2 was quick']);
      expect(ofType(log, 'tool_result')).toMatchObject([{ attempts: 2 }]);
    }
    checkTree(logs, run_id);
  },
);
