/** The gateway on its port, over a client that is connected. */
import { sharedWorkerPolls } from '../client/worker-polls.js';
import type { Auth } from '../gateway/auth/authenticate.js';
import type { Logger } from '../gateway/log.js';
import { serveGateway } from '../gateway/serve-gateway.js';
import type { RunningGateway } from '../gateway/serve-gateway.js';
import type { Registry } from '../kit/registry.js';
import { openGatewayRecords } from '../store/gateway-records.js';
import type { ConnectedClient } from '../worker/create-worker.js';
import { choosePorts } from '../worker/server/ports.js';
import { CommandError, messageOf } from './command-error.js';
import { EXIT } from './exit-codes.js';
import { catalogOf } from './gateway-catalog.js';
import type { GatewaySettings } from './gateway-settings.js';

export interface HttpOptions {
  connected: Pick<ConnectedClient, 'client' | 'temporal' | 'artefacts'>;
  registry: Registry;
  /** Where it keeps its own records. */
  dataDir: string;
  settings: GatewaySettings & { auth: Auth };
  host: string;
  port: number;
  taskQueue: string | undefined;
  log: Logger;
}

export async function serveHttp(options: HttpOptions): Promise<RunningGateway> {
  const { connected, registry, dataDir, settings, host, port, taskQueue, log } = options;
  const { client, temporal, artefacts } = connected;
  try {
    return await serveGateway({
      runs: client.runs,
      threads: client.threads,
      records: openGatewayRecords(dataDir),
      artefacts,
      workerPolls: sharedWorkerPolls(temporal, taskQueue),
      catalog: catalogOf(registry),
      ...settings,
      log,
      host,
      port,
      endStreams: () => client.close(),
    });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EADDRINUSE' && code !== 'EACCES' && code !== 'EADDRNOTAVAIL' && code !== 'ENOTFOUND') throw error;
    // On loopback it can say which port is free.
    if (code === 'EADDRINUSE') {
      await choosePorts([{ port, flag: '--http-port' }]).catch((taken: unknown) => {
        throw new CommandError(messageOf(taken), EXIT.failed, error);
      });
    }
    throw new CommandError(
      `The gateway cannot listen on ${host}, port ${port}: ${messageOf(error)}.`,
      EXIT.failed,
      error,
    );
  }
}
