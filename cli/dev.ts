/** `perdure dev`: a durable Temporal server, a worker and the gateway in one process. */
import { DEFAULT_ADDRESS, serverSettings } from './server-settings.js';
import type { ServerFlags, ServerSettings } from './server-settings.js';
import { createLog } from '../gateway/log.js';
import { installRuntimeLog } from '../worker/runtime-log.js';
import type { Registry } from '../kit/registry.js';
import { CommandError } from './command-error.js';
import { commandName } from './command-name.js';
import { builtInNotice, dataDirFor, findConfig } from './config-file.js';
import { startEmbedded } from './embedded.js';
import { EXIT } from './exit-codes.js';
import { gatewaySettings, HTTP_PORT } from './gateway-settings.js';
import { listenForInterrupts } from './interrupts.js';
import { loadRegistry } from './load-config.js';
import { createNotices } from './notices.js';
import { serveHttp } from './serve-http.js';
import { serveUntilStopped } from './stop-in-order.js';
import { stylesFor } from './terminal.js';
import { serveWorker } from './worker.js';

export interface DevFlags extends ServerFlags {
  config?: string;
  dataDir?: string;
  temporalPort?: number;
  uiPort?: number;
  httpPort?: number;
  debug?: boolean;
}

const TEMPORAL_PORT = 7233;
const UI_PORT = 8233;
const LOOPBACK = '127.0.0.1';

export async function dev(flags: DevFlags): Promise<number> {
  const settings = serverSettings(flags, process.env);
  if (settings.given !== undefined) return devElsewhere(flags, settings, settings.given);

  const interrupts = listenForInterrupts();
  const leave = () => process.exit(EXIT.interrupted);
  interrupts.handle(leave, leave);
  const notices = createNotices();
  let report = notices.passing;
  installRuntimeLog(notices.lasting, flags.debug ? 'INFO' : 'ERROR');
  const cwd = process.cwd();
  const config = findConfig(cwd, flags.config);
  if (config.builtIn) notices.lasting(builtInNotice(cwd));
  const registry = await loadRegistry(config, 'memory');
  const dataDir = dataDirFor(cwd, config, flags.dataDir);
  const { temporalPort = TEMPORAL_PORT, uiPort = UI_PORT, httpPort = HTTP_PORT } = flags;
  const { auth = { kind: 'off' as const }, ...access } = gatewaySettings({}, process.env);
  const { server, worker, broken, stop } = await startEmbedded({
    registry,
    namespace: settings.namespace,
    port: temporalPort,
    uiPort,
    otherPorts: [{ port: httpPort, flag: '--http-port' }],
    dataDir,
    report: (line) => report(line),
    ...(settings.taskQueue === undefined ? {} : { taskQueue: settings.taskQueue }),
  }).finally(notices.clear);
  report = notices.lasting;
  const gateway = await serveHttp({
    connected: worker,
    registry,
    dataDir,
    settings: { auth, ...access },
    host: LOOPBACK,
    port: httpPort,
    taskQueue: settings.taskQueue,
    log: createLog({ write: (line) => notices.lasting(line.trimEnd()) }, flags.debug ? 'info' : 'error'),
  }).catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  const [address, ui] = [server.address, server.uiAddress ?? ''];
  const http = `${gateway.url}${auth.kind === 'off' ? ', without auth' : ''}`;
  process.stdout.write(banner({ registry, settings, dataDir, address, ui, http }));
  const stopAll = async () => {
    await gateway.stop();
    await stop();
  };
  return serveUntilStopped({ broken, stop: stopAll, say: notices.lasting }, interrupts);
}

function devElsewhere(flags: DevFlags, settings: ServerSettings, given: string): Promise<number> {
  const ports = { '--temporal-port': flags.temporalPort, '--ui-port': flags.uiPort, '--http-port': flags.httpPort };
  const port = Object.entries(ports).find(([, number]) => number !== undefined)?.[0];
  if (port !== undefined) {
    throw new CommandError(
      `${port} is for a server that this command starts, and ${given} names one that is there: give one or the other.`,
    );
  }
  process.stderr.write(`${given} names the server ${settings.connection.address}: starting no server, only a worker\n`);
  return serveWorker(flags, settings);
}

interface Banner {
  registry: Registry;
  settings: ServerSettings;
  dataDir: string;
  address: string;
  ui: string;
  http: string;
}

function banner({ registry, settings, dataDir, address, ui, http }: Banner): string {
  const { bold, dim } = stylesFor(process.stdout);
  const [agent = ''] = registry.agents.keys();
  const flags = [
    ...(address === DEFAULT_ADDRESS ? [] : [`--address ${address}`]),
    ...(settings.namespace === 'default' ? [] : [`--namespace ${settings.namespace}`]),
    ...(settings.taskQueue === undefined ? [] : [`--task-queue ${settings.taskQueue}`]),
    // The command looks for it beside the configuration that it finds, as this one did where nothing was said.
    ...(dataDir === dataDirFor(process.cwd(), findConfig(process.cwd())) ? [] : [`--data-dir ${dataDir}`]),
  ].map((flag) => ` ${flag}`);
  return [
    '',
    `${bold('Perdure is up.')} ${dim('Ctrl-C stops it; what it holds is kept.')}`,
    '',
    `  Temporal UI  ${bold(ui)}`,
    `  HTTP         ${http}`,
    `  server       ${address}, namespace ${settings.namespace}`,
    `  agents       ${[...registry.agents.keys()].join(', ')}`,
    `  data         ${dataDir}`,
    '',
    'Try, in another terminal:',
    '',
    `  ${commandName()} run ${agent} "hello"${flags.join('')}`,
    '',
    '',
  ].join('\n');
}
