/** `perdure worker`: a worker alone, on a server that is there. */
import { TASK_QUEUE } from '../contract/names.js';
import { NO_CHANNEL } from '../live/memory-channel.js';
import { startWorker } from '../worker/create-worker.js';
import { installRuntimeLog } from '../worker/runtime-log.js';
import { catchPrints } from './catch-prints.js';
import { CommandError } from './command-error.js';
import { builtInNotice, dataDirFor, findConfig } from './config-file.js';
import { connect } from './connect.js';
import type { tellMilestone } from './tell-milestone.js';
import { describeThrown } from './describe-thrown.js';
import { workerEnded } from './embedded.js';
import { EXIT } from './exit-codes.js';
import { listenForInterrupts } from './interrupts.js';
import { loadRegistry } from './load-config.js';
import { createNotices } from './notices.js';
import { openChannel, withRedisOf } from './open-channel.js';
import { openRecordsFor } from './open-records.js';
import { serverSettings } from './server-settings.js';
import type { ServerFlags, ServerSettings } from './server-settings.js';
import { withKeysOf } from './server-storage.js';
import { serveUntilStopped } from './stop-in-order.js';
import { openWorkerArchive } from './worker-archive.js';
import { waitForServer } from './wait-for-server.js';
import { stdout } from './own-output.js';
import { noteUp } from './up-here.js';

export interface WorkerFlags extends ServerFlags {
  config?: string;
  dataDir?: string;
  debug?: boolean;
}

export function worker(flags: WorkerFlags): Promise<number> {
  const cwd = process.cwd();
  // The demo would take runs of other agents from the queue, and fail them.
  if (findConfig(cwd, flags.config).builtIn) {
    throw new CommandError(`A worker serves what a configuration defines, and there is none in ${cwd}: give --config.`);
  }
  return serveWorker(flags, serverSettings(flags, process.env));
}

export async function serveWorker(
  flags: WorkerFlags,
  settings: ServerSettings,
  tell?: typeof tellMilestone,
): Promise<number> {
  const interrupts = listenForInterrupts();
  const leave = () => process.exit(EXIT.interrupted);
  interrupts.handle(leave, leave);
  const notices = createNotices();
  const prints = catchPrints(notices.print);
  let lost: () => void = () => {};
  installRuntimeLog(notices.lasting, { level: flags.debug ? 'INFO' : 'ERROR', onLost: () => lost() });
  const cwd = process.cwd();
  const config = findConfig(cwd, flags.config);
  if (config.builtIn) notices.lasting(builtInNotice(cwd));
  const registry = await loadRegistry(config);
  const dataDir = dataDirFor(cwd, config, flags.dataDir);
  const { connection, namespace, taskQueue, given } = settings;
  const { storage } = withKeysOf(registry, settings);
  // First, so that a server that cannot be reached is called that, and other mistakes are not.
  await (await connect({ connection, namespace, storage, ...(given === undefined ? {} : { given }) }, dataDir)).close();
  const records = await openWorkerArchive(
    () => openRecordsFor(dataDir, {}, process.env, notices.lasting),
    notices.lasting,
  );
  const channel = openChannel(withRedisOf(registry, settings), notices.lasting);
  const running = await startWorker({
    connection,
    namespace,
    dataDir,
    storage,
    registry,
    report: notices.lasting,
    // Without a channel between processes, nobody in this one reads.
    channel: channel ?? NO_CHANNEL,
    aroundTool: prints.around,
    archive: records.archive,
    onThrown: (thrown) => notices.loud(describeThrown(thrown)),
    ...(tell === undefined ? {} : { onMilestone: (milestone) => tell(milestone, notices) }),
    ...(taskQueue === undefined ? {} : { taskQueue }),
  });
  lost = waitForServer(running.temporal, notices.lasting);
  const agents = [...registry.agents.keys()];
  noteUp({ agents, folder: cwd, data_dir: dataDir });
  stdout.write(
    `worker for ${agents.join(', ')} on ${connection.address}, namespace ${namespace}, task queue ${taskQueue ?? TASK_QUEUE}; data in ${dataDir}\n`,
  );
  let stopping = false;
  const stop = async () => {
    stopping = true;
    await running.stop();
    await channel?.close();
    await records.close();
  };
  const broken = workerEnded(running).catch((error: unknown) => {
    if (stopping) return new Promise<never>(() => {});
    throw error;
  });
  return serveUntilStopped({ broken, stop, say: notices.lasting }, interrupts);
}
