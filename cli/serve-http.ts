/** The gateway on its port, over a client that is connected. */
import { sharedWorkerPolls } from '../client/worker-polls.js';
import type { Auth } from '../gateway/auth/authenticate.js';
import type { Logger } from '../gateway/log.js';
import { createFileLinks } from '../gateway/file-links.js';
import { serveGateway } from '../gateway/serve-gateway.js';
import type { RunningGateway } from '../gateway/serve-gateway.js';
import type { Registry } from '../kit/registry.js';
import type { Records } from '../store/records.js';
import type { ConnectedClient } from '../worker/create-worker.js';
import { choosePorts } from '../worker/server/ports.js';
import { CommandError, messageOf } from './command-error.js';
import { EXIT } from './exit-codes.js';
import { catalogOf } from './gateway-catalog.js';
import type { GatewaySettings } from './gateway-settings.js';

export interface HttpOptions {
  connected: Pick<ConnectedClient, 'client' | 'temporal' | 'artefacts' | 'storage'>;
  registry: Registry;
  records: Records;
  settings: GatewaySettings & { auth: Auth };
  host: string;
  port: number;
  taskQueue: string | undefined;
  log: Logger;
}

export async function serveHttp(options: HttpOptions): Promise<RunningGateway> {
  const { connected, registry, records, host, port, taskQueue, log } = options;
  const { fileUrls, ...settings } = options.settings;
  const { client, temporal, artefacts, storage } = connected;
  // Without auth it is on loopback, where its readers are as well.
  const own = settings.auth.kind === 'off' ? { publicUrl: `http://${host}:${port}` } : {};
  const secret = fileUrls.key ?? (await records.secrets.of('file_urls'));
  try {
    return await serveGateway({
      files: createFileLinks({ ...own, ...fileUrls, secret }),
      runs: client.runs,
      threads: client.threads,
      records,
      artefacts,
      payloads: storage.payloads,
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
