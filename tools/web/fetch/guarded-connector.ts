/**
 * How a socket is opened for a page. Checking names alone is not enough, so nothing is sent, not even a TLS greeting,
 * before
 *
 * G1  every address that the look-up gave was found allowed; the socket uses that very answer, there is no second
 *     look-up that could say something else;
 * G2  the address that the socket is in fact connected to was found allowed (literals skip the look-up).
 */
import { lookup } from 'node:dns/promises';
import type { LookupAddress } from 'node:dns';
import { connect as netConnect } from 'node:net';
import type { LookupFunction, Socket, TcpNetConnectOpts } from 'node:net';
import { connect as tlsConnect } from 'node:tls';
import { callbackify } from 'node:util';
import type { buildConnector } from 'undici';
import { ToolError } from '../../../kit/tool-error.js';
import { denied } from './check-url.js';
import { plainHost } from './web-access.js';
import type { Endpoint, WebAccess } from './web-access.js';

/** The outside world of a connection: replaced only in tests of what it might do. */
export interface Network {
  resolve(hostname: string): Promise<LookupAddress[]>;
  dial(options: TcpNetConnectOpts): Socket;
}

export const REAL_NETWORK: Network = {
  resolve: (hostname) => lookup(hostname, { all: true, verbatim: true }),
  dial: (options) => netConnect(options),
};

export function guardedConnector(access: WebAccess, timeoutMs: number, network: Network): buildConnector.connector {
  return ({ hostname, protocol, port, servername }, callback) => {
    const secure = protocol === 'https:';
    const endpoint = { host: plainHost(hostname), port: Number(port) || (secure ? 443 : 80) };
    const servedAs = secure ? servername || endpoint.host : undefined;
    callbackify(() => open(access, timeoutMs, network, endpoint, servedAs))((error, socket) =>
      error === null ? callback(null, socket) : callback(error, null),
    );
  };
}

async function open(
  access: WebAccess,
  timeoutMs: number,
  network: Network,
  endpoint: Endpoint,
  servername: string | undefined,
): Promise<Socket> {
  const { host, port } = endpoint;
  const socket = network.dial({ host, port, lookup: guardedLookup(access, network, endpoint), noDelay: true });
  const late = new ToolError('timeout', `${host} did not accept a connection within ${timeoutMs} ms.`);
  let current = socket;
  const timer = setTimeout(() => current.destroy(late), timeoutMs);
  try {
    await once(socket, 'connect');
    const refusal = access.refusesAddress(socket.remoteAddress ?? '', endpoint);
    if (refusal !== undefined) throw denied(host, refusal);
    if (servername === undefined) return socket;
    const isName = !/^[\d.]+$|:/.test(servername);
    current = tlsConnect({ socket, host, ...(isName ? { servername } : {}), ALPNProtocols: ['http/1.1'] });
    await once(current, 'secureConnect');
    return current;
  } catch (error) {
    current.destroy();
    socket.destroy();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

function guardedLookup(access: WebAccess, network: Network, endpoint: Endpoint): LookupFunction {
  return (hostname, { all }, callback) => {
    callbackify(() => allowedAddresses(access, network, endpoint, hostname))((error, addresses) => {
      if (error !== null) callback(error, '');
      else if (all === true) callback(null, addresses);
      else callback(null, addresses[0].address, addresses[0].family);
    });
  };
}

async function allowedAddresses(
  access: WebAccess,
  network: Network,
  endpoint: Endpoint,
  hostname: string,
): Promise<[LookupAddress, ...LookupAddress[]]> {
  const [first, ...rest] = await network.resolve(hostname);
  if (first === undefined) throw new Error(`${hostname} has no address`);
  for (const { address } of [first, ...rest]) {
    // One bad address among good ones is how a name is made to reach into a network.
    const refusal = access.refusesAddress(address, endpoint);
    if (refusal !== undefined) throw denied(endpoint.host, refusal);
  }
  return [first, ...rest];
}

/** The event, or the error that came instead; a socket may also close without one. */
function once(socket: Socket, event: 'connect' | 'secureConnect'): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once(event, () => resolve());
    socket.once('error', reject);
    socket.once('close', () => reject(new Error('the connection was closed before it was open')));
  });
}
