/** A web site on a real socket of this machine: paths and what they answer, and what was asked. */
import { createServer } from 'node:http';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Answer = (request: IncomingMessage, response: ServerResponse) => void;

export interface Site {
  readonly port: number;
  /** http://127.0.0.1:port, without a slash. */
  readonly origin: string;
  /** As `host:port`, to be opened on purpose. */
  readonly endpoint: string;
  /** Paths in the order they were asked for. */
  readonly asked: string[];
  answer(path: string, answer: Answer): void;
  html(path: string, body: string): void;
  end(): Promise<void>;
}

export async function startSite(host = '127.0.0.1'): Promise<Site> {
  const answers = new Map<string, Answer>();
  const asked: string[] = [];
  const listener: RequestListener = (request, response) => {
    const path = request.url ?? '';
    asked.push(path);
    const answer = answers.get(path) ?? answers.get(path.split('?')[0] ?? '');
    if (answer !== undefined) answer(request, response);
    else response.writeHead(404, { 'content-type': 'text/plain' }).end('nothing here');
  };
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const { port } = server.address() as AddressInfo;
  const shown = host.includes(':') ? `[${host}]` : host;
  return {
    port,
    origin: `http://${shown}:${port}`,
    endpoint: `${shown}:${port}`,
    asked,
    answer: (path, answer) => void answers.set(path, answer),
    html: (path, body) => void answers.set(path, reply(body, 'text/html; charset=utf-8')),
    async end() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export function reply(body: string | Buffer, type = 'text/plain', headers: Record<string, string> = {}): Answer {
  return (_request, response) => void response.writeHead(200, { 'content-type': type, ...headers }).end(body);
}

export function redirect(location: string, status = 302): Answer {
  return (_request, response) => void response.writeHead(status, { location }).end();
}
