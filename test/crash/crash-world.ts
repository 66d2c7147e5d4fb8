/** Workers in processes of their own, and a client beside them, as another process would be: live text comes by signals. */
import { randomUUID } from 'node:crypto';
import type { PerdureClient, StreamEvent } from '../../client/index.js';
import type { DurableEvent } from '../../contract/events.js';
import type { RuntimeOptions } from '../../kit/index.js';
import { connectClient } from '../../worker/create-worker.js';
import type { ConnectedClient, ServerOptions } from '../../worker/create-worker.js';
import { createDataDir } from '../support/data-dir.js';
import { startWorkerProcess } from '../support/worker-process.js';
import type { WorkerProcess } from '../support/worker-process.js';
import { collect, durable, until } from '../support/world.js';
import type { ToolsetOptions } from '../tools/toolset-agents.js';

/** For a machine that has other things to do as well. */
const PATIENCE_MS = 90_000;
export const TEST_TIMEOUT_MS = 180_000;
export const eventually = (condition: () => boolean | Promise<boolean>, what: string) =>
  until(condition, what, PATIENCE_MS);

/** One who reads from the start to the end, whatever happens meanwhile. */
export interface Reader {
  readonly runId: string;
  /** What it has got so far. */
  readonly events: StreamEvent[];
  readonly done: Promise<void>;
}

export interface CrashWorld extends Pick<ConnectedClient, 'client' | 'temporal'> {
  readonly dataDir: string;
  startWorker(runtime?: RuntimeOptions, toolsets?: ToolsetOptions, code?: boolean): Promise<WorkerProcess>;
  /** A client with feeds of its own. */
  connect(): Promise<PerdureClient>;
  /** Starts a run and a reader of it. */
  read(agentId: string, input: string): Promise<Reader>;
  logOf(runId: string): Promise<DurableEvent[]>;
  run(agentId: string, input: string): Promise<DurableEvent[]>;
  /** Kills every worker that was started here, by its pid. */
  end(): Promise<void>;
}

export async function createCrashWorld(address: string): Promise<CrashWorld> {
  const dataDir = await createDataDir('crash');
  const server: ServerOptions = {
    connection: { address },
    namespace: 'default',
    dataDir,
    taskQueue: `crash-${randomUUID()}`,
  };
  const clients: ConnectedClient[] = [];
  const connect = async () => {
    const connected = await connectClient(server, { live: 'temporal' });
    clients.push(connected);
    return connected;
  };
  const { client, temporal } = await connect();
  const started: WorkerProcess[] = [];

  const start = async (agentId: string, input: string) =>
    (await client.runs.start({ agent_id: agentId, input })).run_id;
  const logOf = async (runId: string) => durable(await collect(client.runs.stream(runId)));
  return {
    client,
    temporal,
    dataDir,
    async startWorker(runtime = {}, toolsets, code = false) {
      const worker = await startWorkerProcess({
        server,
        runtime,
        code,
        ...(toolsets === undefined ? {} : { toolsets }),
      });
      started.push(worker);
      return worker;
    },
    connect: async () => (await connect()).client,
    read: async (agentId, input) => openReader(client, await start(agentId, input)),
    logOf,
    run: async (agentId, input) => logOf(await start(agentId, input)),
    async end() {
      for (const worker of started) worker.kill('SIGKILL');
      await Promise.all(started.map((worker) => worker.exited));
      await Promise.all(clients.map((connected) => connected.close()));
    },
  };
}

function openReader(client: PerdureClient, runId: string): Reader {
  const events: StreamEvent[] = [];
  const read = async () => {
    for await (const event of client.runs.stream(runId)) events.push(event);
  };
  return { runId, events, done: read() };
}
