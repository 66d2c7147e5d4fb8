/** Assembly of a worker: registry, activities, data converter, the tail. Sealed before it polls. */
import { Client, Connection } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import type { InjectedSinks, NativeConnectionOptions } from '@temporalio/worker';
import { hostname } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import { withoutSecrets } from '../activities/environment.js';
import { createActivities } from '../activities/index.js';
import type { AroundTool } from '../activities/call-tool.js';
import type { ReportThrown } from '../activities/thrown.js';
import { openToolsets } from '../activities/toolsets.js';
import { createClient } from '../client/index.js';
import type { ClientOptions, PerdureClient } from '../client/index.js';
import { serverReason } from '../live/server-reason.js';
import { TASK_QUEUE } from '../contract/names.js';
import type { RunSinks } from '../contract/sinks.js';
import type { Registry } from '../kit/registry.js';
import { createCallBoard } from '../live/call-board.js';
import { presenceName } from '../live/presence.js';
import { createMemoryChannel } from '../live/memory-channel.js';
import { createSignalPublishing } from '../live/signal-publisher.js';
import type { LiveChannel } from '../live/channel.js';
import { openStorage } from '../store/open-storage.js';
import type { Storage, StorageSettings } from '../store/open-storage.js';
import { createArchiver } from './archive/archiver.js';
import type { Archiver, WorkerArchive } from './archive/archiver.js';
import { closedLogsOf } from './archive/closed-logs.js';
import { cachedWorkflows } from './cached-workflows.js';
import { CALL_INTERCEPTORS } from './call-retries.js';
import { giveUpLostCalls } from './give-up-lost-calls.js';
import { createHeardLogs, isEnd } from './heard-logs.js';
import { keepPolling } from './keep-polling.js';
import type { PollingWorker } from './keep-polling.js';
import { prepareTools } from './prepare-tools.js';
import { registerSearchAttributes } from './search-attributes.js';
import { tellMilestones } from './milestones.js';
import type { Milestone } from './milestones.js';
import { createTail } from './tail.js';
import { encodedFailuresPath, workflowBundlePath } from './workflow-bundle.js';

export type { WorkerArchive } from './archive/archiver.js';

export interface ServerOptions {
  /** As the SDK's environment configuration gives it. */
  connection: Pick<NativeConnectionOptions, 'address' | 'tls' | 'apiKey' | 'metadata'>;
  namespace: string;
  /** Artefacts and external storage; workers and clients of one namespace share it. */
  dataDir: string;
  /** A bucket in place of the folder, and keys; those of one namespace have the same. */
  storage?: StorageSettings;
  /** `perdure` if absent. */
  taskQueue?: string;
}

export interface ConnectedClient {
  client: PerdureClient;
  temporal: Client;
  artefacts: Storage['artefacts'];
  storage: Storage;
  close(): Promise<void>;
}

/** For clients that outlive a moment: what keeps a run or a thread from being read is said, once for each. */
export function tellObstacles(report: (line: string) => void): NonNullable<ClientOptions['onObstacle']> {
  return (id, error, what) => {
    const why = serverReason(error) ?? (error instanceof Error ? error.message : String(error));
    report(`${what} ${id} cannot be read for now, and is tried again: ${why}`);
  };
}

type Report = (line: string) => void;

/** A client with the same storage as the workers'. */
export async function connectClient(
  server: ServerOptions,
  { report, ...reading }: Pick<ClientOptions, 'channel' | 'live' | 'onObstacle' | 'archive'> & { report?: Report } = {},
): Promise<ConnectedClient> {
  const { dataDir } = server;
  const storage = await openStorage({ dataDir, ...server.storage, ...(report === undefined ? {} : { report }) });
  const connection = await Connection.connect({
    ...server.connection,
    connectTimeout: 5_000,
    interceptors: [...CALL_INTERCEPTORS],
    // A page of history can be larger than what gRPC takes by default.
    channelArgs: { 'grpc.max_receive_message_length': 64 * 1024 * 1024 },
  }).catch((error: unknown) => {
    storage.close();
    throw error;
  });
  const temporal = new Client({
    connection,
    namespace: server.namespace,
    dataConverter: storage.dataConverter,
  });
  const { artefacts } = storage;
  const client = createClient({
    client: temporal,
    artefacts,
    ...reading,
    ...(server.taskQueue === undefined ? {} : { taskQueue: server.taskQueue }),
  });
  return {
    client,
    temporal,
    artefacts,
    storage,
    async close() {
      await client.close();
      await connection.close();
      storage.close();
    },
  };
}

export interface WorkerOptions extends ServerOptions {
  registry: Registry;
  report: Report;
  /** Hears of what the application's own code threw. */
  onThrown?: ReportThrown;
  /** Hears where runs start, wait, go on and end, of those tasks that this worker did. */
  onMilestone?: (milestone: Milestone) => void;
  /** Tools are called through it. */
  aroundTool?: AroundTool;
  /** Workflows kept in memory between tasks; what the configuration says if absent. */
  maxCachedWorkflows?: number;
  /** Carries what happens to readers; one for readers in this process if absent. */
  channel?: LiveChannel;
  /** Runs that have ended are copied there, and read from there. */
  archive?: WorkerArchive;
}

export interface RunningWorker extends ConnectedClient {
  /** Finds ended runs that are missing in the archive, as the schedule does; undefined where there is none. */
  sweep: Archiver['sweep'];
  /** Resolves when the worker has stopped. */
  stopped: Promise<void>;
  /** Lets running work finish for a while, then stops. */
  stop(): Promise<void>;
}

let workers = 0;

/** No other worker has it: the first of this process has the SDK's usual one. */
function nextIdentity(): string {
  workers += 1;
  return `${processName()}${workers === 1 ? '' : `#${workers}`}`;
}

function processName(): string {
  return `${process.pid}@${hostname()}`;
}

/**
 * How long the code of a workflow may run in one go. The server gives a workflow task 10 s: at half of that its own
 * worker fails it, and says why, before another one is given the same. The SDK takes the option, though its types do
 * not name it.
 */
const ISOLATE = { isolateExecutionTimeout: '5s' };

export async function startWorker(options: WorkerOptions): Promise<RunningWorker> {
  const { registry, namespace, taskQueue = TASK_QUEUE, onThrown: threw = () => {} } = options;
  const report = (line: string) => options.report(withoutSecrets(line));
  await prepareTools(registry);
  const { channel = createMemoryChannel() } = options;
  const { archive } = options;
  const connected = await connectClient(options, {
    channel,
    onObstacle: tellObstacles(report),
    report,
    ...(archive === undefined ? {} : { archive: closedLogsOf(archive) }),
  });
  const { temporal, artefacts, storage } = connected;
  const { encrypts } = storage;
  // Before it takes a run that it could not read, or whose files it could not keep.
  await storage.probe().catch(async (error: unknown) => {
    await connected.close();
    throw error;
  });
  const heard = createHeardLogs(temporal);
  const archiver = archive && createArchiver({ client: temporal, archive, taskQueue, heard, report });
  const ended = archiver?.ended ?? heard.forgetSoon;
  const onError = (error: unknown) =>
    report(`live channel: ${serverReason(error) ?? (error instanceof Error ? error.message : String(error))}`);
  const tail = createTail({ client: temporal, channel, onError });
  const presence = channel.showWorker?.(
    presenceName(processName()),
    (peer) => void giveUpLostCalls(temporal, peer, report).catch(onError),
  );
  const { onMilestone } = options;
  const milestones = onMilestone && tellMilestones({ client: temporal, onError }, onMilestone);
  const sinksFor = (identity: string): InjectedSinks<RunSinks> => ({
    perdure: {
      appended: {
        fn({ runId: execution }, runId, task, seq, text) {
          const event = { execution, identity, task, seq, text };
          tail.appended(runId, event);
          milestones?.appended(runId, event);
          heard.appended(runId, event);
          if (isEnd(text)) ended(runId);
        },
      },
      // What runs asks the server, which may not have taken the cancel yet, for some time: activities/heartbeat.ts.
      interrupted: { fn: (_info, runId) => channel.publishCancel(runId) },
    },
  });
  const toolsets = openToolsets(registry, report, threw);
  const activities = createActivities({
    registry,
    toolsets,
    channel,
    calls: createCallBoard(channel, presence),
    artefacts,
    threw,
    around: options.aroundTool ?? (async (_call, run) => run()),
    signals: createSignalPublishing(onError),
    searchAttributes: await registerSearchAttributes(temporal, namespace, report),
    heardLog: heard.read,
    ...(archiver === undefined ? {} : { sweep: archiver.sweep }),
  });
  const { cached_workflows = cachedWorkflows(getHeapStatistics().heap_size_limit) } = registry;
  const { maxCachedWorkflows = cached_workflows } = options;
  const create = async (): Promise<PollingWorker> => {
    const identity = nextIdentity();
    // Of its own: the SDK lets two workers on one task queue share none.
    const connection = await NativeConnection.connect(options.connection);
    const worker = await Worker.create({
      connection,
      namespace,
      taskQueue,
      identity,
      workflowBundle: { codePath: workflowBundlePath({ encrypts }) },
      activities,
      dataConverter: {
        ...storage.dataConverter,
        ...(encrypts ? { failureConverterPath: encodedFailuresPath() } : {}),
      },
      sinks: sinksFor(identity),
      // A task that waits for a worker which is gone, or has too much to do, goes to any other after this long. A worker
      // that is lost costs its runs as much; a shorter time would have busy workers take runs from each other.
      stickyQueueScheduleToStartTimeout: '2s',
      // A cancel reaches running work with the answer to its next heartbeat, where no channel brings it. They are this
      // close only then: see activities/heartbeat.ts.
      maxHeartbeatThrottleInterval: 500,
      defaultHeartbeatThrottleInterval: 500,
      shutdownGraceTime: '10s',
      shutdownForceTime: '30s',
      ...ISOLATE,
      maxCachedWorkflows,
    });
    return { worker, connection };
  };
  const polling = await keepPolling(create, report);
  archiver?.begin();
  const stopped = untilStopped();
  async function untilStopped(): Promise<void> {
    try {
      await polling.stopped;
    } finally {
      // Also when it stopped by itself.
      await presence?.stop();
      await toolsets.close();
    }
  }

  return {
    ...connected,
    stopped,
    sweep: async (asked) => archiver?.sweep(asked),
    async stop() {
      archiver?.halt();
      await polling.stop();
      await stopped;
      await archiver?.stop();
      await tail.stop();
      await milestones?.stop();
      await connected.close();
    },
  };
}
