/** `perdure gateway`: runs over HTTP, on a Temporal server that is there. */
import { secretSettings } from '../contract/secret-settings.js';
import { createLog } from '../gateway/log.js';
import { catchPrints } from './catch-prints.js';
import type { Records } from '../store/records.js';
import { CommandError } from './command-error.js';
import { commandName } from './command-name.js';
import { dataDirFor, findConfig } from './config-file.js';
import type { ConfigFile } from './config-file.js';
import { connect } from './connect.js';
import { EXIT } from './exit-codes.js';
import { gatewaySettings, HTTP_PORT } from './gateway-settings.js';
import type { AuthFlags } from './gateway-flags.js';
import { listenForInterrupts } from './interrupts.js';
import type { Interrupts } from './interrupts.js';
import { loadRegistry } from './load-config.js';
import { createNotices } from './notices.js';
import type { Notices } from './notices.js';
import { withRedisOf } from './open-channel.js';
import { openRecordsFor } from './open-records.js';
import { serveHttp } from './serve-http.js';
import type { HttpOptions } from './serve-http.js';
import { serverSettings } from './server-settings.js';
import { withKeysOf } from './server-storage.js';
import type { ServerFlags } from './server-settings.js';
import { serveUntilStopped } from './stop-in-order.js';
import { stdout } from './own-output.js';

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
  catchPrints(notices.print);
  const cwd = process.cwd();
  const config = findConfig(cwd, flags.config);
  if (config.builtIn) {
    throw new CommandError(
      `A gateway offers what a configuration defines, and there is none in ${cwd}: give --config.`,
    );
  }
  const dataDir = dataDirFor(cwd, config, flags.dataDir);
  const records = await openRecordsFor(dataDir, flags, process.env, notices.lasting);
  try {
    return await serve({ flags, config, dataDir, records, notices, interrupts });
  } finally {
    await records.close();
  }
}

interface Parts {
  flags: GatewayFlags;
  config: ConfigFile;
  dataDir: string;
  records: Records;
  notices: Notices;
  interrupts: Interrupts;
}

async function serve({ flags, config, dataDir, records, notices, interrupts }: Parts): Promise<number> {
  const hasKeys = (await records.keys.list()).length > 0;
  const { auth, ...settings } = gatewaySettings(flags, process.env, records.keys, hasKeys);
  if (auth === undefined) throw withoutAuth(records.place);
  const registry = await loadRegistry(config);
  const server = serverSettings(flags, process.env);
  const settled = withKeysOf(registry, withRedisOf(registry, server));
  const { archive } = records;
  const connected = await connect(settled, dataDir, { report: notices.lasting, archive });
  const httpOptions: HttpOptions = {
    connected,
    registry,
    records,
    settings: { auth, ...settings },
    host: flags.host ?? process.env['PERDURE_HOST'] ?? HOST,
    port: flags.httpPort ?? HTTP_PORT,
    taskQueue: server.taskQueue,
    log: createLog(stdout, flags.debug ? 'debug' : 'info', secretSettings(process.env)),
  };
  // The bucket first: before it takes what it could not keep.
  const opening = connected.storage.probe().then(() => serveHttp(httpOptions));
  const serving = await opening.catch(async (error: unknown) => {
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

function withoutAuth(place: string): CommandError {
  return new CommandError(
    [
      `The gateway does not start without auth, and there are no API keys in ${place}. Either make one,`,
      `  ${commandName()} keys create --org acme --user ann`,
      'or start with --api-keys, and nobody is let in before there is one; or check tokens, by --jwks-url,',
      `--jwt-issuer and --jwt-audience. Only "${commandName()} dev" does without, and only on loopback.`,
    ].join('\n'),
  );
}
