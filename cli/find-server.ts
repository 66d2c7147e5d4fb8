/** A server that is there, and whose workers know the agent: where another application is up, its workers do not. */
import { isPerdureError, PerdureError } from '../contract/errors.js';
import type { ConnectedClient } from '../worker/create-worker.js';
import type { Application } from './application.js';
import { CommandError, messageOf } from './command-error.js';
import { connect, somethingListens } from './connect.js';
import type { ServerSettings } from './server-settings.js';
import { withStorageOf } from './server-storage.js';
import { upAt, workersOf } from './up-here.js';

/** Undefined where nobody named a server, and the usual place has none that knows the agent. */
export async function findServer(
  settings: ServerSettings,
  application: Application,
  agentId: string | undefined,
  say: (line: string) => void,
): Promise<ConnectedClient | undefined> {
  const { given, connection, taskQueue } = settings;
  const { address } = connection;
  if (given === undefined && !(await somethingListens(address))) return undefined;
  let connected: ConnectedClient;
  try {
    // On the server of `perdure dev`, which is for trying things, history may cost what live text takes.
    const reading = upAt(address) === undefined ? {} : { live: 'temporal' as const };
    connected = await connect(await withStorageOf(application, settings), application.dataDir, reading);
  } catch (error) {
    const ours = error instanceof CommandError || (isPerdureError(error) && error.code !== 'server_unreachable');
    if (given !== undefined || ours) throw error;
    say(`what listens on ${address} is no Temporal server (${messageOf(error)})`);
    return undefined;
  }
  const strangers = agentId === undefined ? undefined : await strangersTo(agentId, connected, taskQueue);
  if (strangers !== undefined) {
    await connected.close();
    const what = `${address} serves ${strangers}, not "${agentId}"`;
    const isOurs = agentId !== undefined && (await application.registry()).agents.has(agentId);
    if (given !== undefined || !isOurs) throw new PerdureError('unknown_agent', what);
    say(`${what}: starting a server for this command`);
    return undefined;
  }
  return connected;
}

/** Whom the workers serve, in words, where it is known that none of them has the agent. */
async function strangersTo(
  agentId: string,
  { temporal }: ConnectedClient,
  taskQueue: string | undefined,
): Promise<string | undefined> {
  // A server that does not say who polls is left to say so where the run is shown.
  const workers = await workersOf(temporal, taskQueue).catch(() => undefined);
  if (workers === undefined || workers.some(({ agents }) => agents.includes(agentId))) return undefined;
  return workers.map(({ agents, folder }) => `${agents.join(', ')} (started in ${folder})`).join(' and ');
}
