/** A worker and a client on the shared server, on a task queue of their own. */
import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { inject } from 'vitest';
import type { DurableEvent } from '../../contract/events.js';
import { defineConfig } from '../../kit/index.js';
import type { ConfigOptions } from '../../kit/index.js';
import { createRegistry } from '../../kit/registry.js';
import type { StreamEvent } from '../../client/index.js';
import { startWorker } from '../../worker/create-worker.js';
import type { RunningWorker, ServerOptions, WorkerOptions } from '../../worker/create-worker.js';
import { installRuntimeLog } from '../../worker/runtime-log.js';
import { createDataDir } from './data-dir.js';
import { tellOpenOf } from './tell-open.js';

export interface World extends RunningWorker {
  server: ServerOptions & { taskQueue: string };
  /** The whole log of a run that has ended, or will. */
  logOf(runId: string): Promise<DurableEvent[]>;
  /** Starts a run and returns its whole log. */
  run(agentId: string, input: string, request?: Record<string, unknown>): Promise<DurableEvent[]>;
  end(): Promise<void>;
}

let installed = false;

export async function createWorld(
  options: ConfigOptions,
  extra: Partial<
    Pick<WorkerOptions, 'maxCachedWorkflows' | 'dataDir' | 'taskQueue' | 'archive' | 'report' | 'onThrown' | 'storage'>
  > & {
    address?: string;
  } = {},
): Promise<World> {
  if (!installed) installRuntimeLog((line) => process.stderr.write(`${line}\n`));
  installed = true;
  const dataDir = extra.dataDir ?? (await createDataDir('world'));
  const server = {
    connection: { address: extra.address ?? inject('temporalAddress') },
    namespace: 'default',
    dataDir,
    ...(extra.storage === undefined ? {} : { storage: extra.storage }),
    taskQueue: extra.taskQueue ?? `test-${randomUUID()}`,
  };
  const registry = createRegistry(
    defineConfig({ runtime: { heartbeat_timeout: '5s', cancel_grace: 500 }, ...options }),
  );
  const cache = process.env['PERDURE_TEST_WORKFLOW_CACHE'];
  const maxCachedWorkflows = extra.maxCachedWorkflows ?? (cache === undefined ? undefined : Number(cache));
  const worker = await startWorker({
    ...server,
    registry,
    report: extra.report ?? (() => {}),
    ...(extra.archive === undefined ? {} : { archive: extra.archive }),
    ...(extra.onThrown === undefined ? {} : { onThrown: extra.onThrown }),
    ...(maxCachedWorkflows === undefined ? {} : { maxCachedWorkflows }),
  });
  const forgetOpen = tellOpenOf({ temporal: worker.temporal, server });
  const noise = maxCachedWorkflows === 1 && registry.agents.has('test.bare') ? crowdOut(worker) : undefined;
  const logOf = async (runId: string) => durable(await collect(worker.client.runs.stream(runId)));
  return {
    ...worker,
    server,
    logOf,
    async run(agentId, input, request = {}) {
      const { run_id } = await worker.client.runs.start({ agent_id: agentId, input, ...request });
      return logOf(run_id);
    },
    async end() {
      await noise?.();
      forgetOpen();
      await worker.stop();
    },
  };
}

/** Other runs, one after another: with a cache of one they evict whatever is being tested. */
function crowdOut({ client, temporal }: RunningWorker): () => Promise<void> {
  let going = true;
  const input = JSON.stringify({ turns: [{ text: 'noise' }] });
  const crowd = (async () => {
    while (going) {
      const { run_id } = await client.runs.start({ agent_id: 'test.bare', input });
      await temporal.workflow.getHandle(run_id).result();
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  })();
  return async () => {
    going = false;
    await crowd;
  };
}

export async function collect(stream: AsyncIterable<StreamEvent>): Promise<StreamEvent[]> {
  const events: StreamEvent[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

export function durable(events: readonly StreamEvent[]): DurableEvent[] {
  return events.filter((event): event is DurableEvent => 'seq' in event);
}

export function phases(events: readonly StreamEvent[]): string[] {
  return events.flatMap((event) => (event.type === 'run_phase_changed' ? [event.phase] : []));
}

export function ofType<T extends DurableEvent['type']>(
  events: readonly StreamEvent[],
  type: T,
): Extract<DurableEvent, { type: T }>[] {
  return events.filter((event): event is Extract<DurableEvent, { type: T }> => event.type === type && 'seq' in event);
}

/** Waits until the condition holds, by events where there are some, else by looking again. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what: string,
  timeoutMs = 30_000,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`still waiting for ${what} after ${timeoutMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/**
 * A worker has taken a tool call of the run, and has not ended it. That a call is scheduled says less: whoever kills its
 * worker then may find the first attempt with the next one.
 */
export async function isCalling(temporal: Client, runId: string): Promise<boolean> {
  const { raw } = await temporal.workflow.getHandle(runId).describe();
  return (
    raw.pendingActivities?.some(
      ({ activityType, lastStartedTime }) => activityType?.name === 'callTool' && lastStartedTime != null,
    ) ?? false
  );
}
