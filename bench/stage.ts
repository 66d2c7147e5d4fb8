/** What every benchmark needs: a tuned embedded server of its own, workers on it, and plain statistics. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Worker } from '@temporalio/worker';
import type { WorkflowBundle } from '@temporalio/worker';
import { createActivities } from '../activities/index.js';
import { openToolsets } from '../activities/toolsets.js';
import { SEARCH_ATTRIBUTES } from '../contract/names.js';
import { defineConfig } from '../kit/index.js';
import type { ConfigOptions } from '../kit/index.js';
import { createRegistry } from '../kit/registry.js';
import { createCallBoard } from '../live/call-board.js';
import { createMemoryChannel } from '../live/memory-channel.js';
import { createSignalPublishing } from '../live/signal-publisher.js';
import { createFileArtefacts } from '../store/file-artefacts.js';
import { startWorker } from '../worker/create-worker.js';
import type { RunningWorker, ServerOptions, WorkerArchive } from '../worker/create-worker.js';
import { startEmbeddedServer } from '../worker/embedded-server.js';
import { installRuntimeLog } from '../worker/runtime-log.js';

export interface Stage {
  server: ServerOptions;
  worker(options: ConfigOptions, taskQueue: string, archive?: WorkerArchive): Promise<RunningWorker>;
  /** The bare workflows with the same activities; until the stage closes. */
  bareWorker(options: ConfigOptions, taskQueue: string): Promise<void>;
  close(): Promise<void>;
}

export async function openStage(): Promise<Stage> {
  installRuntimeLog((line) => console.error(line));
  const dataDir = await mkdtemp(join(tmpdir(), 'perdure-bench-'));
  const embedded = await startEmbeddedServer({
    port: 0,
    uiPort: false,
    namespace: 'default',
    searchAttributes: Object.fromEntries(SEARCH_ATTRIBUTES.map((name) => [name, 'Keyword' as const])),
    report: (line) => console.error(line),
  });
  const server = { connection: { address: embedded.address }, namespace: embedded.namespace, dataDir };
  const workers: { stop(): Promise<void> }[] = [];
  return {
    server,
    async worker(options, taskQueue, archive) {
      const registry = createRegistry(defineConfig(options));
      const worker = await startWorker({
        ...server,
        taskQueue,
        registry,
        report: (line) => console.error(line),
        ...(archive === undefined ? {} : { archive }),
      });
      workers.push(worker);
      return worker;
    },
    async bareWorker(options, taskQueue) {
      const registry = createRegistry(defineConfig(options));
      const connection = await NativeConnection.connect(server.connection);
      const channel = createMemoryChannel();
      const worker = await Worker.create({
        connection,
        taskQueue,
        workflowBundle: await bundleBaseline(),
        activities: createActivities({
          registry,
          toolsets: openToolsets(
            registry,
            () => {},
            () => {},
          ),
          channel,
          calls: createCallBoard(channel),
          signals: createSignalPublishing(() => {}),
          artefacts: createFileArtefacts(dataDir),
          searchAttributes: [...SEARCH_ATTRIBUTES],
          threw: () => {},
          around: async (_call, run) => run(),
          heardLog: async () => undefined,
        }),
        maxHeartbeatThrottleInterval: 500,
      });
      const running = worker.run();
      workers.push({
        async stop() {
          worker.shutdown();
          await running;
          await connection.close();
        },
      });
    },
    async close() {
      for (const worker of workers) await worker.stop();
      await embedded.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** The workflows that Perdure is measured against. */
export function bundleBaseline(): Promise<WorkflowBundle> {
  return bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL('./baseline-workflows.js', import.meta.url)),
    logger: new DefaultLogger('WARN'),
  });
}

export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN;
}

export const median = (values: readonly number[]) => quantile(values, 0.5);

/** Runs `total` tasks, `atOnce` of them at a time; the seconds it took. */
export async function timed(total: number, atOnce: number, task: (n: number) => Promise<unknown>): Promise<number> {
  let next = 0;
  const started = performance.now();
  const lane = async () => {
    while (next < total) await task(next++);
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
  return (performance.now() - started) / 1000;
}

export function table(head: string[], rows: (string | number)[][]): string {
  const line = (cells: (string | number)[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
