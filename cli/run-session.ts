/** Where `perdure run` and `perdure chat` run: through a gateway, on a server that is there, or on one of its own for the time of the command. */
import type { Client } from '@temporalio/client';
import type { Threads } from '../client/index.js';
import { PerdureError } from '../contract/errors.js';
import { builtInNotice, dataDirFor, findConfig } from './config-file.js';
import { connect, somethingListens } from './connect.js';
import { startEmbedded } from './embedded.js';
import { gatewayClient } from './gateway-address.js';
import { loadRegistry } from './load-config.js';
import type { Notices } from './notices.js';
import { CommandError, messageOf } from './command-error.js';
import type { FoundBy } from './repeat-flags.js';
import type { RunsClient } from './run-commands.js';
import { gatewayFiles, storedFiles } from './run-files.js';
import type { RunFiles } from './run-files.js';
import type { ServerSettings } from './server-settings.js';

export interface RunSession {
  client: RunsClient['client'];
  /** Undefined where a gateway stands between. */
  threads: Threads | undefined;
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
  settings: ServerSettings,
  flags: FoundBy,
  /** Undefined where what is there already says it. */
  agentId: string | undefined,
  notices: Pick<Notices, 'lasting' | 'passing'>,
): Promise<RunSession> {
  const gateway = gatewayClient(flags, process.env);
  if (gateway !== undefined) {
    const close = () => gateway.close();
    const none = { threads: undefined, temporal: undefined };
    const files = gatewayFiles(gateway);
    return { client: gateway, ...none, embedded: false, address: '', files, broken: new Promise(() => {}), close };
  }
  const existing = await findServer(settings, flags, notices);
  if (existing !== undefined) return existing;

  const config = findConfig(process.cwd(), flags.config);
  if (config.builtIn) notices.lasting(builtInNotice(process.cwd()));
  const registry = await loadRegistry(config, 'memory');
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
    ...(settings.taskQueue === undefined ? {} : { taskQueue: settings.taskQueue }),
    ...(flags.dataDir === undefined ? {} : { dataDir: dataDirFor(process.cwd(), config, flags.dataDir) }),
  });
  notices.lasting(`started a Temporal server for this command, UI at ${server.uiAddress}`);
  const { address } = server;
  const files = storedFiles(worker.artefacts);
  const { client, temporal } = worker;
  return { client, threads: client.threads, temporal, embedded: true, address, files, broken, close: stop };
}

/** Undefined where nobody named a server and the usual place has none. */
async function findServer(
  settings: ServerSettings,
  flags: FoundBy,
  notices: Pick<Notices, 'lasting' | 'passing'>,
): Promise<RunSession | undefined> {
  const { given, connection } = settings;
  if (given === undefined && !(await somethingListens(connection.address))) return undefined;
  const cwd = process.cwd();
  try {
    const connected = await connect(settings, dataDirFor(cwd, findConfig(cwd, flags.config), flags.dataDir));
    const files = storedFiles(connected.artefacts);
    const { threads } = connected.client;
    return {
      ...connected,
      threads,
      embedded: false,
      address: connection.address,
      files,
      broken: new Promise(() => {}),
    };
  } catch (error) {
    if (given !== undefined || error instanceof CommandError) throw error;
    notices.lasting(`what listens on ${connection.address} is no Temporal server (${messageOf(error)})`);
    return undefined;
  }
}
