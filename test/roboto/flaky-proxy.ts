/**
 * Between a client and a gateway: the first POST to each path is passed on, and when the gateway has acted, the client
 * gets a 503 or a cut connection in the place of the answer. What it sends then goes through.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export interface FlakyProxy {
  url: string;
  /** Paths of the POSTs that came, each as often as it did. */
  posts(): readonly string[];
}

export async function startFlakyProxy(target: string, fault: '503' | 'cut'): Promise<FlakyProxy> {
  const posts: string[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      const { method = 'GET', url: path = '/' } = request;
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const headers = Object.fromEntries(
        Object.entries(request.headers).filter(([name]) => !['host', 'connection', 'content-length'].includes(name)),
      ) as Record<string, string>;
      const body = chunks.length === 0 ? {} : { body: Buffer.concat(chunks) };
      const answer = await fetch(target + path, { method, headers, ...body });
      const bytes = Buffer.from(await answer.arrayBuffer());
      const isFirst = method === 'POST' && !posts.includes(path);
      if (method === 'POST') posts.push(path);
      if (isFirst && fault === 'cut') {
        response.destroy();
        return;
      }
      const type = answer.headers.get('content-type') ?? 'application/json';
      if (isFirst) response.writeHead(503, { 'content-type': 'text/plain' }).end('the proxy lost the answer');
      else response.writeHead(answer.status, { 'content-type': type }).end(bytes);
    })().catch((error: unknown) => response.destroy(error as Error));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, posts: () => posts };
}
