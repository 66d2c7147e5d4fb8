/** The gate at the end of a test run can fail: a history that does not fit is found, named and kept. */
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Worker } from '@temporalio/worker';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { RUN_WORKFLOW, SEARCH_ATTRIBUTES } from '../../contract/names.js';
import { startEmbeddedServer } from '../../worker/embedded-server.js';
import type { EmbeddedServer } from '../../worker/embedded-server.js';
import { historiesOn, replayHistories } from '../support/replay-histories.js';
import { storedHistories, storeHistories } from '../support/stored-histories.js';
import { script, testConfig } from '../support/test-agents.js';
import { createWorld, until } from '../support/world.js';

let folder: string;
/** Of its own: what is wrong here on purpose must not fail the gate of all other tests. */
let server: EmbeddedServer;
let connection: Connection;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perdure-gate-'));
  server = await startEmbeddedServer({
    dataDir: join(folder, 'server'),
    port: 0,
    uiPort: false,
    namespace: 'default',
    searchAttributes: Object.fromEntries(SEARCH_ATTRIBUTES.map((name) => [name, 'Keyword' as const])),
    report: () => undefined,
  });
  connection = await Connection.connect({ address: server.address });
}, 120_000);
afterAll(async () => {
  await connection.close();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

it('finds the one history that does not replay, and keeps it', async () => {
  const client = new Client({ connection });
  const keepIn = join(folder, 'kept');
  const dataDirs = join(folder, 'data');
  await mkdir(dataDirs);
  const world = await createWorld(testConfig(), { address: server.address, dataDir: join(dataDirs, 'world') });
  await world.run('test.agent', script([{ text: 'Well.' }]));
  await world.end();
  await until(async () => (await client.workflow.count()).count === 1, 'the run to be listed');
  expect(await replayHistories([historiesOn(client)], { dataDirs, keepIn })).toEqual({ histories: 1, failed: [] });

  await runWrong(client);
  await until(async () => (await client.workflow.count()).count === 2, 'the wrong one to be listed');
  const { histories, failed } = await replayHistories([historiesOn(client)], { dataDirs, keepIn });
  expect(histories).toBe(2);
  expect(failed).toMatchObject([{ id: expect.stringContaining('a-wrong-one') as string }]);
  expect(JSON.parse(await readFile(failed[0]?.file ?? '', 'utf8'))).toHaveProperty('events');

  // As they are kept of a server that is gone by then.
  await storeHistories(dataDirs, historiesOn(client));
  const stored = await replayHistories([storedHistories(dataDirs)], { dataDirs, keepIn });
  expect(stored).toEqual({ histories, failed });
});

async function runWrong(client: Client): Promise<void> {
  const workflowsPath = fileURLToPath(new URL('plain/wrong-run.ts', import.meta.url));
  const native = await NativeConnection.connect({ address: server.address });
  const worker = await Worker.create({
    connection: native,
    taskQueue: 'wrong',
    workflowBundle: await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('ERROR') }),
  });
  await worker.runUntil(client.workflow.execute(RUN_WORKFLOW, { workflowId: 'a-wrong-one', taskQueue: 'wrong' }));
  await native.close();
}
