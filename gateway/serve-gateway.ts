/** The gateway on a port: what Node's server itself refuses, and how it ends. */
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { randomUUID } from 'node:crypto';
import { getRequestListener } from '@hono/node-server';
import type { Http2Bindings, HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { PerdureError } from '../contract/errors.js';
import type { Auth } from './auth/authenticate.js';
import { isLoopback } from './auth/local-user.js';
import { createGateway } from './create-gateway.js';
import type { GatewayOptions } from './create-gateway.js';
import { errorBody, errorStatus, forCaller, retryAfter } from './error-response.js';
import { createAddressSlots } from './limits/address-slots.js';
import { DEFAULT_LIMITS } from './limits/gateway-limits.js';
import { STREAM_TYPES } from './routes/stream-events.js';
import { writeStream } from './write-stream.js';

export interface ServeOptions extends Omit<GatewayOptions, 'auth'> {
  /** Undefined: nobody has said, and so it does not start. */
  auth: Auth | undefined;
  host: string;
  /** 0: any. */
  port: number;
  /** Ends all streams of runs, as an early end. */
  endStreams(): Promise<void>;
  /** How long answers may take after a stop; 5 s by default. */
  stopGraceMs?: number;
}

export interface RunningGateway {
  url: string;
  /** Takes no more, ends the streams, lets answers finish for a while. */
  stop(): Promise<void>;
}

const STOP_GRACE_MS = 5_000;
/** How often Node looks for requests that take too long. */
const CHECK_MS = 1_000;
const SWEEP_MS = 50;

export async function serveGateway(options: ServeOptions): Promise<RunningGateway> {
  const { host, port, log, stopGraceMs = STOP_GRACE_MS } = options;
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  let stopping = false;
  const gateway = createGateway({ ...options, auth: checkedAuth(options.auth, host), isStopping: () => stopping });
  const answer = async (request: Request, bindings: HttpBindings | Http2Bindings): Promise<Response> => {
    const response = await gateway.fetch(request, bindings);
    const { body, headers } = response;
    const streams = STREAM_TYPES.some((type) => headers.get('content-type')?.startsWith(type));
    if (body === null || !streams) return response;
    void writeStream(response, body, (bindings as HttpBindings).outgoing);
    return RESPONSE_ALREADY_SENT;
  };
  const listener = getRequestListener(answer, {
    // Other parts of this process have their own idea of Request and Response.
    overrideGlobalObjects: false,
    errorHandler(error) {
      log.debug({ err: error }, 'a request that cannot be read');
      return Response.json(errorBody(unreadable(), randomUUID()), { status: errorStatus(unreadable()) });
    },
  });
  const slots = createAddressSlots(limits.connections_per_address);
  /** Node's parser has them already, and may still find a request in what comes. */
  const refused = new WeakSet<Socket>();
  const server = createServer(
    {
      maxHeaderSize: limits.header_bytes,
      headersTimeout: Math.min(limits.header_timeout_ms, limits.request_timeout_ms),
      requestTimeout: limits.request_timeout_ms,
      connectionsCheckingInterval: CHECK_MS,
    },
    (request, response) => {
      if (!refused.has(request.socket)) void listener(request, response);
    },
  );
  server.on('connection', (socket) => {
    const release = slots.take(socket.remoteAddress ?? '');
    if (release !== undefined) return void socket.once('close', release);
    refused.add(socket);
    socket.write(rawResponse(tooMany(limits.connections_per_address)));
    socket.destroySoon();
  });
  const answers = new WeakMap<Socket, ServerResponse>();
  server.on('request', ({ socket }, response) => answers.set(socket, response));
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    const open = answers.get(socket);
    const speaking = open !== undefined && open.headersSent && !open.writableFinished;
    if (socket.writable && !speaking && error.code !== 'ECONNRESET')
      socket.write(rawResponse(unreadableFor(error.code)));
    socket.destroySoon();
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port, exclusive: true }, () => {
      server.off('error', reject);
      resolve();
    });
  });
  const bound = (server.address() as AddressInfo).port;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    async stop() {
      stopping = true;
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      // One that has its answer would be kept open for the next request.
      const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
      const limit = setTimeout(() => server.closeAllConnections(), stopGraceMs);
      try {
        await options.endStreams();
        await closed;
      } finally {
        clearInterval(sweep);
        clearTimeout(limit);
      }
    },
  };
}

function checkedAuth(auth: Auth | undefined, host: string): Auth {
  if (auth === undefined) {
    throw new PerdureError(
      'invalid_config',
      'the gateway does not start without auth: give it API keys or a JWKS URL with issuer and audience',
    );
  }
  if (auth.kind === 'off' && !isLoopback(host)) {
    throw new PerdureError('invalid_config', `the gateway does not listen on ${host} without auth, only on loopback`);
  }
  return auth;
}

function unreadable(): PerdureError {
  return new PerdureError('invalid_request', 'the request is no HTTP that can be read');
}

function unreadableFor(code: string | undefined): PerdureError {
  if (code === 'HPE_HEADER_OVERFLOW')
    return new PerdureError('headers_too_large', 'the headers are larger than the gateway takes');
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new PerdureError('request_timeout', 'the request took too long to arrive');
  return unreadable();
}

/** Those of others end sooner or later, and nobody knows when. */
const CONNECTION_RETRY_MS = 2_000;

function tooMany(limit: number): PerdureError {
  return new PerdureError(
    'too_many_connections',
    `${limit} connections are open from this address, which is the limit`,
    { retry_after_ms: CONNECTION_RETRY_MS },
  );
}

/** Said by hand, since there is no request yet, or none that Node could read, and so no answer to fill. */
function rawResponse(error: PerdureError): string {
  const requestId = randomUUID();
  const body = JSON.stringify(errorBody(forCaller(error), requestId));
  const { retry_after_ms } = error;
  return [
    `HTTP/1.1 ${errorStatus(error)} ${error.code}`,
    'content-type: application/json',
    ...(retry_after_ms === undefined ? [] : [`retry-after: ${retryAfter(retry_after_ms)}`]),
    `x-request-id: ${requestId}`,
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
    '',
    body,
  ].join('\r\n');
}
