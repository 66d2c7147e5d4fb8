/** `perdure dev`: a durable Temporal server, a worker and the gateway in one process. */
import { secretSettings } from '../contract/secret-settings.js';
import { DEFAULT_ADDRESS, serverSettings } from './server-settings.js';
import type { ServerFlags, ServerSettings } from './server-settings.js';
import { createLog } from '../gateway/log.js';
import { installRuntimeLog } from '../worker/runtime-log.js';
import type { Registry } from '../kit/registry.js';
import { catchPrints } from './catch-prints.js';
import type { Records } from '../store/records.js';
import { CommandError } from './command-error.js';
import { commandName } from './command-name.js';
import { builtInNotice, dataDirFor, findConfig } from './config-file.js';
import { somethingListens } from './connect.js';
import { tellMilestone } from './tell-milestone.js';
import { describeThrown } from './describe-thrown.js';
import { startEmbedded } from './embedded.js';
import { EXIT } from './exit-codes.js';
import type { AuthFlags } from './gateway-flags.js';
import { gatewaySettings, HTTP_PORT } from './gateway-settings.js';
import { listenForInterrupts } from './interrupts.js';
import type { Interrupts } from './interrupts.js';
import { loadRegistry } from './load-config.js';
import { createNotices } from './notices.js';
import type { Notices } from './notices.js';
import { openChannel, withRedisOf } from './open-channel.js';
import { openRecordsFor } from './open-records.js';
import { serveHttp } from './serve-http.js';
import { withKeysOf } from './server-storage.js';
import { serveUntilStopped } from './stop-in-order.js';
import { stylesFor } from './terminal.js';
import { noteUp, upAt } from './up-here.js';
import { serveWorker } from './worker.js';
import { stderr, stdout } from './own-output.js';

export interface DevFlags extends ServerFlags, Pick<AuthFlags, 'corsOrigins' | 'publicUrl'> {
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
/** Above that, the port is named as taken. */
const PORTS_TRIED = 100;

export async function dev(flags: DevFlags): Promise<number> {
  const settings = serverSettings(flags, process.env);
  if (settings.given !== undefined) return devElsewhere(flags, settings, settings.given);

  const interrupts = listenForInterrupts();
  const leave = () => process.exit(EXIT.interrupted);
  interrupts.handle(leave, leave);
  const notices = createNotices();
  installRuntimeLog(notices.lasting, { level: flags.debug ? 'INFO' : 'ERROR' });
  const cwd = process.cwd();
  const config = findConfig(cwd, flags.config);
  if (config.builtIn) notices.lasting(builtInNotice(cwd));
  const registry = await loadRegistry(config);
  const dataDir = dataDirFor(cwd, config, flags.dataDir);
  const records = await openRecordsFor(dataDir, {}, process.env, notices.lasting);
  try {
    return await serve({ flags, settings, registry, dataDir, records, notices, interrupts });
  } finally {
    await records.close();
  }
}

interface Parts {
  flags: DevFlags;
  settings: ServerSettings;
  registry: Registry;
  dataDir: string;
  records: Records;
  notices: Notices;
  interrupts: Interrupts;
}

async function serve({ flags, settings, registry, dataDir, records, notices, interrupts }: Parts): Promise<number> {
  let report = notices.passing;
  const prints = catchPrints(notices.print);
  const temporalPort = flags.temporalPort ?? (await usualPort(TEMPORAL_PORT, notices.lasting));
  const uiPort = flags.uiPort ?? (await usualPort(UI_PORT, notices.lasting));
  const httpPort = flags.httpPort ?? (await usualPort(HTTP_PORT, notices.lasting));
  const { auth = { kind: 'off' as const }, ...access } = gatewaySettings(flags, process.env, records.keys, false);
  const channel = openChannel(withRedisOf(registry, settings), (line) => report(line));
  const { storage } = withKeysOf(registry, settings);
  // The UI asks the gateway to decrypt what it shows: that has to be at a port which is known by now.
  const seals = storage.keys !== undefined && httpPort !== 0;
  const { server, worker, broken, stop } = await startEmbedded({
    registry,
    ...(channel === undefined ? {} : { channel }),
    namespace: settings.namespace,
    port: temporalPort,
    uiPort,
    otherPorts: [{ port: httpPort, flag: '--http-port' }],
    dataDir,
    storage,
    codecEndpoint: seals ? `http://${LOOPBACK}:${httpPort}/v1/codec` : undefined,
    report: (line) => report(line),
    aroundTool: prints.around,
    archive: records.archive,
    onThrown: (thrown) => notices.loud(describeThrown(thrown)),
    onMilestone: (milestone) => tellMilestone(milestone, notices),
    ...(settings.taskQueue === undefined ? {} : { taskQueue: settings.taskQueue }),
  }).finally(notices.clear);
  report = notices.lasting;
  const gateway = await serveHttp({
    connected: worker,
    registry,
    records,
    settings: { auth, ...access, origins: [...access.origins, ...(seals ? pagesOf(server.uiAddress) : [])] },
    host: LOOPBACK,
    port: httpPort,
    taskQueue: settings.taskQueue,
    log: createLog(
      { write: (line) => notices.lasting(line.trimEnd()) },
      flags.debug ? 'info' : 'error',
      secretSettings(process.env),
    ),
  }).catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  noteUp({ agents: [...registry.agents.keys()], folder: process.cwd(), data_dir: dataDir, address: server.address });
  const [address, ui] = [server.address, server.uiAddress ?? ''];
  const http = `${gateway.url}${auth.kind === 'off' ? ', without auth' : ''}`;
  stdout.write(banner({ registry, settings, dataDir, address, ui, http }));
  const stopAll = async () => {
    await gateway.stop();
    await stop();
    await channel?.close();
  };
  return serveUntilStopped({ broken, stop: stopAll, say: notices.lasting }, interrupts);
}

/** The UI, by either name of this machine. */
function pagesOf(uiAddress = ''): string[] {
  const { port } = new URL(uiAddress);
  return [LOOPBACK, 'localhost'].map((host) => `http://${host}:${port}`);
}

/** Another one may be up: the next port that is free then, since commands in this folder find the server by its data. */
async function usualPort(usual: number, say: (line: string) => void): Promise<number> {
  let port = usual;
  while (port < usual + PORTS_TRIED && (await somethingListens(`${LOOPBACK}:${port}`))) port += 1;
  if (port === usual) return port;
  const other = upAt(`${LOOPBACK}:${usual}`);
  const by = other === undefined ? '' : ` by ${commandName()} dev in ${other.folder}`;
  say(`port ${usual} is taken${by}: using ${port}`);
  return port;
}

function devElsewhere(flags: DevFlags, settings: ServerSettings, given: string): Promise<number> {
  const own = {
    '--temporal-port': flags.temporalPort,
    '--ui-port': flags.uiPort,
    '--http-port': flags.httpPort,
    '--cors-origins': flags.corsOrigins,
  };
  const flag = Object.entries(own).find(([, value]) => value !== undefined)?.[0];
  if (flag !== undefined) {
    throw new CommandError(
      `${flag} is for a server that this command starts, and ${given} names one that is there: give one or the other.`,
    );
  }
  stderr.write(`${given} names the server ${settings.connection.address}: starting no server, only a worker\n`);
  return serveWorker(flags, settings, tellMilestone);
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
  const { bold, dim } = stylesFor(stdout);
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
