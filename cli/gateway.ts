/** `perdure gateway`: runs over HTTP, on a Temporal server that is there. */
import { createLog } from '../gateway/log.js';
import { CommandError } from './command-error.js';
import { commandName } from './command-name.js';
import { dataDirFor, findConfig } from './config-file.js';
import { connect } from './connect.js';
import { EXIT } from './exit-codes.js';
import { defaultKeysPath, gatewaySettings, HTTP_PORT } from './gateway-settings.js';
import type { AuthFlags } from './gateway-flags.js';
import { listenForInterrupts } from './interrupts.js';
import { loadRegistry } from './load-config.js';
import { createNotices } from './notices.js';
import { serveHttp } from './serve-http.js';
import { serverSettings } from './server-settings.js';
import type { ServerFlags } from './server-settings.js';
import { serveUntilStopped } from './stop-in-order.js';

export interface GatewayFlags extends ServerFlags, AuthFlags {
  config?: string;
  dataDir?: string;
  host?: string;
  httpPort?: number;
  debug?: boolean;
}

const HOST = '127.0.0.1';

export async function gateway(flags: GatewayFlags): Promise<number> {
  const interrupts = listenForInterrupts();
  const leave = () => process.exit(EXIT.interrupted);
  interrupts.handle(leave, leave);
  const notices = createNotices();
  const cwd = process.cwd();
  const config = findConfig(cwd, flags.config);
  if (config.builtIn) {
    throw new CommandError(
      `A gateway offers what a configuration defines, and there is none in ${cwd}: give --config.`,
    );
  }
  const dataDir = dataDirFor(cwd, config, flags.dataDir);
  const { auth, ...settings } = gatewaySettings(flags, process.env, defaultKeysPath(dataDir));
  if (auth === undefined) throw withoutAuth();
  const registry = await loadRegistry(config, 'temporal');
  const server = serverSettings(flags, process.env);
  const connected = await connect(server, dataDir);
  const serving = await serveHttp({
    connected,
    registry,
    dataDir,
    settings: { auth, ...settings },
    host: flags.host ?? process.env['PERDURE_HOST'] ?? HOST,
    port: flags.httpPort ?? HTTP_PORT,
    taskQueue: server.taskQueue,
    log: createLog(process.stdout, flags.debug ? 'debug' : 'info'),
  }).catch(async (error: unknown) => {
    await connected.close();
    throw error;
  });
  notices.lasting(`gateway at ${serving.url}, for ${server.connection.address}, namespace ${server.namespace}`);
  const stop = async () => {
    await serving.stop();
    await connected.close();
  };
  const broken = new Promise<never>(() => {});
  return serveUntilStopped({ broken, stop, say: notices.lasting }, interrupts);
}

function withoutAuth(): CommandError {
  return new CommandError(
    [
      'The gateway does not start without auth. Either make API keys,',
      `  ${commandName()} keys create --org acme --user ann`,
      'and give their file by --api-keys-file where it is not in the data folder; or check tokens, by --jwks-url,',
      `--jwt-issuer and --jwt-audience. Only "${commandName()} dev" does without, and only on loopback.`,
    ].join('\n'),
  );
}
