/**
 * Records histories for the replay tests: `npx tsx test/workflows/record-histories.ts <version>` writes those that are
 * not there yet. A history that is there is never written again: it stands for runs that are in flight somewhere.
 */
import { existsSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { defineConfig } from '../../kit/index.js';
import { createRegistry } from '../../kit/registry.js';
import { startWorker } from '../../worker/create-worker.js';
import { startEmbeddedServer } from '../../worker/embedded-server.js';
import { installRuntimeLog } from '../../worker/runtime-log.js';
import { call, script, testConfig } from '../support/test-agents.js';

const version = process.argv[2];
if (version === undefined) throw new Error('Give the version that the histories stand for, such as 0.1.');

installRuntimeLog(console.error);

const echo = call('tools.echo', { text: 'x' });
const CASES: Record<string, { input: string; request?: object; cancelAt?: string; live?: boolean }> = {
  'direct-answer': { input: script([{ thinking: 'hm', text: 'Hello.' }]) },
  'parallel-tools-with-failures': {
    input: script([
      { text: 'Looking.', tool_calls: [echo, call('tools.quick', { do: 'throw' }), { tool: 'make_coffee', args: {} }] },
      { tool_calls: [echo] },
      { text: 'Done.' },
    ]),
  },
  'cap-then-synthesis': {
    input: script(
      Array.from({ length: 4 }, () => ({ tool_calls: [echo] })),
      { text: 'In short.' },
    ),
    request: { limits: { run: { max_tool_calls: 2 } } },
  },
  'time-budget-stops-a-tool': {
    input: script([{ tool_calls: [call('tools.act', { do: 'hang' })] }], { text: 'In short.' }),
    request: { limits: { run: { time_budget: '1s' } } },
  },
  'model-retried': {
    input: script([{ text: 'ok', attempts: [{ fail: { code: 'model_stream_cut', after_deltas: 1 } }, {}] }]),
  },
  'model-failed': { input: script([{ fail: { code: 'model_unauthorized' } }]) },
  'canceled-while-streaming': { input: script([{ text: ['well'], hang: true }]), cancelAt: 'text_chunk' },
  'canceled-while-tools-run': {
    input: script([{ tool_calls: [call('tools.act', { do: 'hang' })] }]),
    cancelAt: 'tool_scheduled',
  },
  'deltas-by-signal': { input: script([{ text: 'a few words by signal', delay_ms: 150 }]), live: true },
  'continued-as-new': {
    input: script([...Array.from({ length: 5 }, () => ({ tool_calls: [echo] })), { text: 'The end.' }]),
    request: { agent_id: 'test.agent' },
  },
};

const server = await startEmbeddedServer({
  port: 0,
  uiPort: false,
  namespace: 'default',
  searchAttributes: {},
  report: console.error,
});
const dataDir = await mkdtemp(join(tmpdir(), 'perdure-record-'));
for (const [name, { input, request, cancelAt, live }] of Object.entries(CASES)) {
  const file = fileURLToPath(new URL(`histories/${version}-${name}.json`, import.meta.url));
  if (existsSync(file)) continue;
  const runtime = name === 'continued-as-new' ? { continue_as_new_after_events: 40 } : {};
  const worker = await startWorker({
    connection: { address: server.address },
    namespace: 'default',
    dataDir,
    taskQueue: name,
    registry: createRegistry(defineConfig(testConfig(runtime))),
    report: console.error,
  });
  const { runs } = worker.client;
  const { run_id } = await runs.start({
    agent_id: 'test.agent',
    input,
    ...request,
    ...(live ? { signal_live: true } : {}),
  });
  for await (const event of runs.stream(run_id)) if (event.type === cancelAt) await runs.cancel(run_id);
  const handle = worker.temporal.workflow.getHandle(run_id);
  await handle.result().catch(() => {});
  // Who recorded it, and where, is nobody's business, and nothing that replays.
  const json = historyToJSON(await handle.fetchHistory())
    .replaceAll(/"identity": ?"[^"]*"/g, '"identity": "recorder"')
    .replaceAll(/"stackTrace": ?"(?:[^"\\]|\\.)*"/g, '"stackTrace": ""');
  await writeFile(file, `${json}\n`);
  console.log(`recorded ${file}`);
  await worker.stop();
}
await server.stop();
