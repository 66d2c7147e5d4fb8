/** A client on a server that is there already. */
import { connect as connectSocket } from 'node:net';
import { isGrpcServiceError } from '@temporalio/client';
import { PerdureError } from '../contract/errors.js';
import { connectClient } from '../worker/create-worker.js';
import type { ConnectedClient } from '../worker/create-worker.js';
import { CommandError, messageOf } from './command-error.js';
import type { ServerSettings } from './server-settings.js';

const PROBE_TIMEOUT_MS = 1_000;
const DESCRIBE_TIMEOUT_MS = 5_000;
/** grpc.status.NOT_FOUND */
const NOT_FOUND = 5;

export async function connect(settings: ServerSettings, dataDir: string): Promise<ConnectedClient> {
  const { connection, namespace, taskQueue, given } = settings;
  const connected = await connectClient({
    connection,
    namespace,
    dataDir,
    ...(taskQueue === undefined ? {} : { taskQueue }),
  }).catch((error: unknown) => {
    throw unreachable(connection.address, given, error);
  });
  await checkNamespace(connected, connection.address);
  return connected;
}

/** Whoever may use a namespace may not always describe it, so only a clear no counts. */
async function checkNamespace({ temporal, close }: ConnectedClient, address: string): Promise<void> {
  const { namespace } = temporal.options;
  try {
    await temporal.withDeadline(Date.now() + DESCRIBE_TIMEOUT_MS, () =>
      temporal.workflowService.describeNamespace({ namespace }),
    );
  } catch (error) {
    if (!isGrpcServiceError(error) || error.code !== NOT_FOUND) return;
    await close();
    const next = `Check --namespace, or make it: temporal operator namespace create --address ${address} -n ${namespace}`;
    throw new CommandError(`There is no namespace "${namespace}" on the server at ${address}. ${next}`);
  }
}

function unreachable(address: string, given: string | undefined, error: unknown): PerdureError {
  const from = given === undefined ? '' : ` (from ${given})`;
  const what = `no Temporal server can be reached at ${address}${from}: ${messageOf(error)}`;
  return new PerdureError('server_unreachable', what, { cause: error });
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
