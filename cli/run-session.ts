/** Where `perdure run` and `perdure chat` run: through a gateway, on a server that is there, or on one of its own for the time of the command. */
import type { Client } from '@temporalio/client';
import type { AroundTool } from '../activities/call-tool.js';
import { PerdureError } from '../contract/errors.js';
import { builtInNotice } from './config-file.js';
import { findApplication } from './application.js';
import { chatThreads } from './chat/chat-threads.js';
import type { ChatThreads } from './chat/chat-threads.js';
import { describeThrown } from './describe-thrown.js';
import { startEmbedded } from './embedded.js';
import { findServer } from './find-server.js';
import { gatewayClient } from './gateway-address.js';
import type { Notices } from './notices.js';
import type { FoundBy } from './repeat-flags.js';
import type { RunsClient } from './run-commands.js';
import { gatewayFiles, storedFiles } from './run-files.js';
import type { RunFiles } from './run-files.js';
import type { ServerSettings } from './server-settings.js';
import { withKeysOf } from './server-storage.js';
import { withServerOf } from './up-here.js';

export interface RunSession {
  client: RunsClient['client'];
  threads: ChatThreads;
  /** Undefined where a gateway stands between. */
  temporal: Client | undefined;
  embedded: boolean;
  address: string;
  files: RunFiles;
  /** Rejects when what we started ended by itself. */
  broken: Promise<never>;
  close(): Promise<void>;
}

export async function openSession(
  given: ServerSettings,
  flags: FoundBy,
  /** Undefined where what is there already says it. */
  agentId: string | undefined,
  notices: Pick<Notices, 'lasting' | 'passing' | 'loud'>,
  aroundTool: AroundTool,
): Promise<RunSession> {
  const gateway = gatewayClient(flags, process.env, {
    // Like a server that is gone, it is waited for: whoever has had enough leaves.
    giveUpAfterMs: Number.POSITIVE_INFINITY,
    onConnection: (state, why) =>
      notices.lasting(state === 'back' ? 'the gateway answers again' : `${why} Still trying.`),
  });
  if (gateway !== undefined) {
    const close = () => gateway.close();
    const { threads } = gateway;
    const session = { client: gateway, threads, temporal: undefined, embedded: false, address: '' };
    return { ...session, files: gatewayFiles(gateway), broken: new Promise(() => {}), close };
  }
  const application = findApplication(flags);
  const settings = withServerOf(application.dataDir, given);
  const existing = await findServer(settings, application, agentId, notices.lasting);
  if (existing !== undefined) {
    const { client, artefacts } = existing;
    const place = {
      threads: chatThreads(client.threads),
      address: settings.connection.address,
      files: storedFiles(artefacts),
    };
    return { ...existing, ...place, embedded: false, broken: new Promise(() => {}) };
  }

  const { config } = application;
  if (config.builtIn) notices.lasting(builtInNotice(process.cwd()));
  const registry = await application.registry();
  if (agentId !== undefined && !registry.agents.has(agentId)) {
    const known = [...registry.agents.keys()].join(', ');
    const where = config.builtIn ? 'the built-in demo' : config.path;
    throw new PerdureError('unknown_agent', `there is no agent "${agentId}" in ${where}; there are: ${known}`);
  }
  const { server, worker, broken, stop } = await startEmbedded({
    registry,
    namespace: settings.namespace,
    port: 0,
    uiPort: 0,
    report: notices.passing,
    storage: withKeysOf(registry, settings).storage,
    aroundTool,
    onThrown: (thrown) => notices.loud(describeThrown(thrown)),
    ...(settings.taskQueue === undefined ? {} : { taskQueue: settings.taskQueue }),
    ...(flags.dataDir === undefined ? {} : { dataDir: application.dataDir }),
  });
  notices.lasting(`started a Temporal server for this command, UI at ${server.uiAddress}`);
  const { address } = server;
  const files = storedFiles(worker.artefacts);
  const { client, temporal } = worker;
  return {
    client,
    threads: chatThreads(client.threads),
    temporal,
    embedded: true,
    address,
    files,
    broken,
    close: stop,
  };
}
