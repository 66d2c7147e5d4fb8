/** A client on a server that is there already. */
import { connect as connectSocket } from 'node:net';
import { isGrpcServiceError } from '@temporalio/client';
import { isPerdureError, PerdureError } from '../contract/errors.js';
import type { Archive } from '../store/archive/archive.js';
import { closedLogsOf } from '../worker/archive/closed-logs.js';
import { connectClient, tellObstacles } from '../worker/create-worker.js';
import type { ConnectedClient } from '../worker/create-worker.js';
import { serverReason } from '../live/server-reason.js';
import { CommandError } from './command-error.js';
import { commandName } from './command-name.js';
import { openChannel } from './open-channel.js';
import { DEFAULT_ADDRESS } from './server-settings.js';
import type { ServerSettings } from './server-settings.js';
import { whyUnreachable } from './why-unreachable.js';

const PROBE_TIMEOUT_MS = 1_000;
const DESCRIBE_TIMEOUT_MS = 5_000;
/** Of grpc.status. */
const [NOT_FOUND, PERMISSION_DENIED, UNIMPLEMENTED, UNAUTHENTICATED] = [5, 7, 12, 16];

interface Reading {
  /** Told what keeps the channel from working, or a run from being read; a command of a moment has nobody to tell. */
  report?: (line: string) => void;
  /** Where there is no channel. */
  live?: 'temporal';
  /** Where runs are that have ended. */
  archive?: Archive;
}

export async function connect(
  settings: ServerSettings,
  dataDir: string,
  { report = () => {}, live, archive }: Reading = {},
): Promise<ConnectedClient> {
  const { connection, namespace, taskQueue, storage } = settings;
  const channel = openChannel(settings, report);
  const server = { connection, namespace, dataDir, storage, ...(taskQueue === undefined ? {} : { taskQueue }) };
  const reading = {
    ...(channel === undefined ? (live === undefined ? {} : { live }) : { channel }),
    onObstacle: tellObstacles(report),
    ...(archive === undefined ? {} : { archive: closedLogsOf(archive) }),
    report,
  };
  const connected = await connectClient(server, reading).catch(async (error: unknown) => {
    await channel?.close();
    throw isPerdureError(error) ? error : await unreachable(settings, error);
  });
  const close = async () => {
    await connected.close();
    await channel?.close();
  };
  await checkNamespace({ ...connected, close }, settings);
  return { ...connected, close };
}

/** Whoever may use a namespace may not always describe it, so only a clear no counts. */
async function checkNamespace({ temporal, close }: ConnectedClient, settings: ServerSettings): Promise<void> {
  const { namespace } = temporal.options;
  const { address } = settings.connection;
  try {
    await temporal.withDeadline(Date.now() + DESCRIBE_TIMEOUT_MS, () =>
      temporal.workflowService.describeNamespace({ namespace }),
    );
  } catch (error) {
    if (!isGrpcServiceError(error) || ![NOT_FOUND, UNIMPLEMENTED].includes(error.code)) return;
    await close();
    if (error.code === UNIMPLEMENTED) throw notReached(settings, serverReason(error) ?? '', error);
    const next = `Check --namespace, or make it: ${commandName()} temporal operator namespace create --address ${address} -n ${namespace}`;
    throw new CommandError(`There is no namespace "${namespace}" on the server at ${address}. ${next}`);
  }
}

async function unreachable(settings: ServerSettings, error: unknown): Promise<Error> {
  const { connection, given } = settings;
  if (!URL.canParse(`tcp://${connection.address}`) || connection.address.includes('/')) {
    const from = given === undefined ? '' : ` (from ${given})`;
    return new CommandError(`"${connection.address}"${from} is no address of a server, such as ${DEFAULT_ADDRESS}.`);
  }
  const refused = serverReason(error);
  const isRefused = isGrpcServiceError(error) && [PERMISSION_DENIED, UNAUTHENTICATED].includes(error.code);
  const why = isRefused && refused !== undefined ? refused : await whyUnreachable(connection);
  return notReached(settings, why, error);
}

function notReached({ connection, given }: ServerSettings, why: string, cause: unknown): PerdureError {
  const from = given === undefined ? '' : ` (from ${given})`;
  const what = `no Temporal server can be reached at ${connection.address}${from}: ${why}`;
  return new PerdureError('server_unreachable', what, { cause });
}

/** Quick where nothing listens, unlike a client that tries for seconds. */
export function somethingListens(address: string): Promise<boolean> {
  const { hostname, port } = new URL(`tcp://${address}`);
  return new Promise((resolve) => {
    const socket = connectSocket({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) });
    const answer = (listens: boolean) => {
      socket.destroy();
      resolve(listens);
    };
    socket.once('connect', () => answer(true)).once('error', () => answer(false));
    socket.setTimeout(PROBE_TIMEOUT_MS, () => answer(false));
  });
}
