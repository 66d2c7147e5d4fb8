/**
 * A vendor on a real socket: it answers with what a test has queued, and remembers what it was asked. Streams come
 * from `<vendor>/streams/*.txt`, raw server-sent events, cut into pieces that do not respect lines or characters.
 */
import { readFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as tick } from 'node:timers/promises';

const PIECE_BYTES = 61;

export interface WireReply {
  status?: number;
  headers?: Record<string, string>;
  body: string;
  /** How it ends: properly, with the socket destroyed, or not until the client goes away. Default: close. */
  end?: 'close' | 'destroy' | 'hang';
}

export interface WireRequest {
  url: string;
  headers: IncomingHttpHeaders;
  body: Record<string, unknown>;
  /** Resolves when the client's connection is gone before the answer was. */
  disconnected: Promise<void>;
}

export interface WireServer {
  baseURL: string;
  requests: WireRequest[];
  reply(reply: WireReply): void;
  close(): Promise<void>;
}

/** `path` is where the vendor's API begins. */
export async function startWireServer(path = ''): Promise<WireServer> {
  const queue: WireReply[] = [];
  const requests: WireRequest[] = [];
  const server = createServer((request, response) => {
    const received: Buffer[] = [];
    request.on('data', (chunk: Buffer) => received.push(chunk));
    request.on('end', () => {
      const disconnected = new Promise<void>((resolve) => {
        response.on('close', () => {
          if (!response.writableFinished) resolve();
        });
      });
      const body = JSON.parse(Buffer.concat(received).toString()) as Record<string, unknown>;
      requests.push({ url: request.url ?? '', headers: request.headers, body, disconnected });
      void send(response, queue.shift() ?? { status: 418, body: '{"error":{"message":"nothing queued"}}' });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    baseURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
    requests,
    reply: (reply) => void queue.push(reply),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export type StreamReply = (name: string, end?: NonNullable<WireReply['end']>) => WireReply;

export function streamsOf(vendor: string): StreamReply {
  return (name, end = 'close') => {
    const body = readFileSync(new URL(`./${vendor}/streams/${name}.txt`, import.meta.url), 'utf8');
    return { headers: { 'content-type': 'text/event-stream; charset=utf-8', 'x-request-id': 'req_1' }, body, end };
  };
}

export function errorReply(status: number, error: Record<string, unknown>, headers = {}): WireReply {
  return {
    status,
    headers: { 'content-type': 'application/json', 'x-request-id': 'req_7', 'request-id': 'req_7', ...headers },
    body: JSON.stringify({ error }),
  };
}

async function send(response: ServerResponse, reply: WireReply): Promise<void> {
  response.writeHead(reply.status ?? 200, reply.headers);
  response.flushHeaders();
  const bytes = Buffer.from(reply.body);
  for (let at = 0; at < bytes.length && !response.destroyed; at += PIECE_BYTES) {
    response.write(bytes.subarray(at, at + PIECE_BYTES));
    await tick();
  }
  if (reply.end === 'hang') return;
  // A destroyed socket drops what is still in its buffer: give the last piece time to leave.
  if (reply.end === 'destroy') setTimeout(() => response.socket?.destroy(), 20);
  else response.end();
}
