/**
 * A proxy before an S3 server which fails one call in so many, in turns: by an answer of 503, by a connection that is
 * cut before the server hears of the call, and by one that is cut after the server has done what was asked.
 */
import { createServer, request as send } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface FlakyBucket {
  endpoint: string;
  calls(): number;
  failed(): number;
  stop(): Promise<void>;
}

const UNAVAILABLE = '<Error><Code>ServiceUnavailable</Code><Message>Not now.</Message></Error>';

export async function startFlakyBucket(target: string, oneIn: number): Promise<FlakyBucket> {
  let [calls, failed] = [0, 0];
  const server = createServer((request, response) => {
    calls += 1;
    const failure = calls % oneIn === 0 ? failed++ % 3 : undefined;
    if (failure === 0) return refuse(request, response);
    if (failure === 1) return void request.socket.destroy();
    forward(request, response, failure === 2);
  });

  function refuse(request: IncomingMessage, response: ServerResponse): void {
    request.resume();
    response.writeHead(503, { 'content-type': 'application/xml' }).end(UNAVAILABLE);
  }

  function forward(request: IncomingMessage, response: ServerResponse, cut: boolean): void {
    const { method, url, headers } = request;
    // With its own host, which is part of what was signed.
    const onward = send(new URL(url ?? '/', target), { method: method ?? 'GET', headers }, (answer) => {
      if (cut) {
        answer.resume();
        answer.once('end', () => request.socket.destroy());
        return;
      }
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    onward.once('error', () => request.socket.destroy());
    request.pipe(onward);
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    calls: () => calls,
    failed: () => failed,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
