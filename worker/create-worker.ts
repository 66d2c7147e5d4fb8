/** Assembly of a worker: registry, activities, data converter, the tail. Sealed before it polls. */
import { Client, Connection, defaultGrpcRetryOptions, makeGrpcRetryInterceptor } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import type { InjectedSinks, NativeConnectionOptions } from '@temporalio/worker';
import { join } from 'node:path';
import { createActivities } from '../activities/index.js';
import { openToolsets } from '../activities/toolsets.js';
import { createClient } from '../client/index.js';
import type { PerdureClient } from '../client/index.js';
import { TASK_QUEUE } from '../contract/names.js';
import type { RunSinks } from '../contract/sinks.js';
import type { Registry } from '../kit/registry.js';
import { createMemoryChannel } from '../live/memory-channel.js';
import { createSignalPublishing } from '../live/signal-publisher.js';
import type { LiveChannel } from '../live/channel.js';
import { createDataConverter } from '../store/external-storage.js';
import { createFileArtefacts } from '../store/file-artefacts.js';
import type { ArtefactStore } from '../contract/artefacts.js';
import { prepareTools } from './prepare-tools.js';
import { registerSearchAttributes } from './search-attributes.js';
import { createTail } from './tail.js';
import { workflowBundlePath } from './workflow-bundle.js';

export interface ServerOptions {
  /** As the SDK's environment configuration gives it. */
  connection: Pick<NativeConnectionOptions, 'address' | 'tls' | 'apiKey' | 'metadata'>;
  namespace: string;
  /** Artefacts and external storage; workers and clients of one namespace share it. */
  dataDir: string;
  /** `perdure` if absent. */
  taskQueue?: string;
}

export interface ConnectedClient {
  client: PerdureClient;
  temporal: Client;
  artefacts: ArtefactStore;
  close(): Promise<void>;
}

/** A query that finds another one waiting is refused as "exhausted": the place is free in milliseconds, not in a second. */
const retries = makeGrpcRetryInterceptor(defaultGrpcRetryOptions({ initialIntervalMs: () => 25 }));

/** A client with the same storage as the workers'. With the worker's channel, it gets live text without polling. */
export async function connectClient(server: ServerOptions, channel?: LiveChannel): Promise<ConnectedClient> {
  const connection = await Connection.connect({ ...server.connection, connectTimeout: 5_000, interceptors: [retries] });
  const temporal = new Client({
    connection,
    namespace: server.namespace,
    dataConverter: createDataConverter(join(server.dataDir, 'payloads')),
  });
  const artefacts = createFileArtefacts(join(server.dataDir, 'artefacts'));
  const client = createClient({
    client: temporal,
    artefacts,
    ...(channel === undefined ? {} : { channel }),
    ...(server.taskQueue === undefined ? {} : { taskQueue: server.taskQueue }),
  });
  return {
    client,
    temporal,
    artefacts,
    async close() {
      await client.close();
      await connection.close();
    },
  };
}

export interface WorkerOptions extends ServerOptions {
  registry: Registry;
  report: (line: string) => void;
  /** Workflows kept in memory between tasks; the SDK's default if absent. */
  maxCachedWorkflows?: number;
}

export interface RunningWorker extends ConnectedClient {
  /** Resolves when the worker has stopped. */
  stopped: Promise<void>;
  /** Lets running work finish for a while, then stops. */
  stop(): Promise<void>;
}

export async function startWorker(options: WorkerOptions): Promise<RunningWorker> {
  const { registry, report, namespace, taskQueue = TASK_QUEUE } = options;
  await prepareTools(registry);
  const channel = createMemoryChannel();
  const connected = await connectClient(options, channel);
  const { temporal, artefacts } = connected;
  const onError = (error: unknown) => report(`live channel: ${error instanceof Error ? error.message : String(error)}`);
  const tail = createTail(temporal, channel, onError);
  const sinks: InjectedSinks<RunSinks> = {
    perdure: {
      appended: { fn: (_info, runId, fromSeq) => tail.appended(runId, fromSeq) },
      ended: { fn: (_info, runId, fromSeq, texts) => tail.ended(runId, fromSeq, texts) },
    },
  };
  const connection = await NativeConnection.connect(options.connection);
  const toolsets = openToolsets(registry, report);
  const worker = await Worker.create({
    connection,
    namespace,
    taskQueue,
    workflowBundle: { codePath: workflowBundlePath() },
    activities: createActivities({
      registry,
      toolsets,
      channel,
      artefacts,
      signals: createSignalPublishing(onError),
      searchAttributes: await registerSearchAttributes(temporal, namespace, report),
    }),
    dataConverter: createDataConverter(join(options.dataDir, 'payloads')),
    sinks,
    // A dead worker costs this much on top of the heartbeat timeout.
    stickyQueueScheduleToStartTimeout: '1s',
    // A cancel reaches running work with the answer to its next heartbeat.
    maxHeartbeatThrottleInterval: 500,
    defaultHeartbeatThrottleInterval: 500,
    shutdownGraceTime: '10s',
    ...(options.maxCachedWorkflows === undefined ? {} : { maxCachedWorkflows: options.maxCachedWorkflows }),
  });
  const run = async () => {
    try {
      await worker.run();
    } finally {
      // Also when it stopped by itself.
      await toolsets.close();
    }
  };
  const stopped = run();
  return {
    ...connected,
    stopped,
    async stop() {
      if (worker.getState() === 'RUNNING') worker.shutdown();
      await stopped;
      await tail.stop();
      await connected.close();
      await connection.close();
    },
  };
}
