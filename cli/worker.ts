/** `perdure worker`: a worker alone, on a server that is there. */
import { TASK_QUEUE } from '../contract/names.js';
import { startWorker } from '../worker/create-worker.js';
import { installRuntimeLog } from '../worker/runtime-log.js';
import { CommandError } from './command-error.js';
import { builtInNotice, dataDirFor, findConfig } from './config-file.js';
import { connect } from './connect.js';
import { workerEnded } from './embedded.js';
import { EXIT } from './exit-codes.js';
import { listenForInterrupts } from './interrupts.js';
import { loadRegistry } from './load-config.js';
import { createNotices } from './notices.js';
import { serverSettings } from './server-settings.js';
import type { ServerFlags, ServerSettings } from './server-settings.js';
import { serveUntilStopped } from './stop-in-order.js';

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

export async function serveWorker(flags: WorkerFlags, settings: ServerSettings): Promise<number> {
  const interrupts = listenForInterrupts();
  const leave = () => process.exit(EXIT.interrupted);
  interrupts.handle(leave, leave);
  const notices = createNotices();
  installRuntimeLog(notices.lasting, flags.debug ? 'INFO' : 'ERROR');
  const cwd = process.cwd();
  const config = findConfig(cwd, flags.config);
  if (config.builtIn) notices.lasting(builtInNotice(cwd));
  // Its readers are in other processes, so what it streams must travel.
  const registry = await loadRegistry(config, 'temporal');
  const dataDir = dataDirFor(cwd, config, flags.dataDir);
  const { connection, namespace, taskQueue } = settings;
  // First, so that a server that cannot be reached is called that, and other mistakes are not.
  await (await connect(settings, dataDir)).close();
  const running = await startWorker({
    connection,
    namespace,
    dataDir,
    registry,
    report: notices.lasting,
    ...(taskQueue === undefined ? {} : { taskQueue }),
  });
  const agents = [...registry.agents.keys()].join(', ');
  process.stdout.write(
    `worker for ${agents} on ${connection.address}, namespace ${namespace}, task queue ${taskQueue ?? TASK_QUEUE}; data in ${dataDir}\n`,
  );
  let stopping = false;
  const stop = async () => {
    stopping = true;
    await running.stop();
  };
  const broken = workerEnded(running).catch((error: unknown) => {
    if (stopping) return new Promise<never>(() => {});
    throw error;
  });
  return serveUntilStopped({ broken, stop, say: notices.lasting }, interrupts);
}
