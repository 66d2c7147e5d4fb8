/** Why no connection to a Temporal server came about: its client only says that it took too long. */
import { lookup } from 'node:dns/promises';
import { connect as connectSocket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { ServerSettings } from './server-settings.js';

const PROBE_TIMEOUT_MS = 2_000;
const DEFAULT_PORT = 7233;

type Connection = ServerSettings['connection'];
type Probe = { state: 'open' } | { state: 'failed'; code: string } | { state: 'silent' };

/** In a few words. */
export async function whyUnreachable({ address, tls }: Connection): Promise<string> {
  const { host, port } = placeOf(address);
  const known = await lookup(host).then(
    () => true,
    () => false,
  );
  if (!known) return `the host "${host}" is not known`;
  const socket = await probe(connectSocket({ host, port }), 'connect');
  if (socket.state === 'failed' && socket.code === 'ECONNREFUSED') return 'nothing listens there';
  if (socket.state !== 'open') return 'its host does not answer';
  const wantsTls = tls !== undefined && tls !== null && tls !== false;
  const given = wantsTls && typeof tls === 'object' ? tls.serverRootCACertificate : undefined;
  const trusted = given === undefined || given === null ? {} : { ca: Buffer.from(given) };
  const servername = /^[\d.:]+$/.test(host) ? '' : host;
  const secured = await probe(
    connectTls({ host, port, servername, ALPNProtocols: ['h2'], rejectUnauthorized: wantsTls, ...trusted }),
    'secureConnect',
  );
  if (!wantsTls) return secured.state === 'open' ? SPEAKS_TLS : NO_TEMPORAL;
  if (secured.state === 'failed' && /CERT|SIGNED|ALTNAME|ISSUER/.test(secured.code)) {
    return `its certificate is not trusted (${secured.code}). TEMPORAL_TLS_SERVER_CA_CERT_PATH names the authority that signed it`;
  }
  return secured.state === 'open' ? NO_TEMPORAL : NO_TLS;
}

const SPEAKS_TLS = 'what listens there speaks TLS, and we did not. Set TEMPORAL_TLS=true, or give a profile with TLS';
const NO_TLS =
  'what listens there does not speak TLS, and we did. Leave TEMPORAL_TLS and the API key out, or set TEMPORAL_TLS=false';
const NO_TEMPORAL = 'what listens there is no Temporal server';

function placeOf(address: string): { host: string; port: number } {
  const { hostname, port } = new URL(`tcp://${address}`);
  return { host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? DEFAULT_PORT : Number(port) };
}

function probe(socket: ReturnType<typeof connectSocket>, opened: 'connect' | 'secureConnect'): Promise<Probe> {
  return new Promise((resolve) => {
    const answer = (found: Probe) => {
      socket.destroy();
      resolve(found);
    };
    socket.once(opened, () => answer({ state: 'open' }));
    socket.on('error', (error: NodeJS.ErrnoException) => answer({ state: 'failed', code: error.code ?? '' }));
    socket.once('close', () => answer({ state: 'failed', code: 'CLOSED' }));
    socket.setTimeout(PROBE_TIMEOUT_MS, () => answer({ state: 'silent' }));
  });
}
