/** What is special to a server over HTTP: sessions, credentials, streams that are cut, answers that are none. */
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { FoundTool } from '../../../kit/index.js';
import { mcpServer } from '../../../tools/index.js';
import { until } from '../../support/world.js';
import { failureOf, openCaller } from './calling.js';
import { startServer } from './start-server.js';

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

const withFixture = async (env?: Record<string, string>) => {
  const server = await startServer('http', env);
  ends.push(() => server.stop());
  return server;
};

interface Asked {
  id: number;
  method: string;
}

/** A server that initializes as it should, and answers `tools/call` as the test wants it. */
async function serveBadly(onCall: (asked: Asked, response: ServerResponse, request: IncomingMessage) => void) {
  const seen: string[] = [];
  const http = createServer((request, response) => {
    void (async () => {
      let text = '';
      for await (const chunk of request) text += String(chunk);
      const asked = (text === '' ? { method: '' } : JSON.parse(text)) as Asked;
      seen.push(`${request.method} ${asked.method}`);
      if (asked.method === 'tools/call') return onCall(asked, response, request);
      if (asked.id === undefined) return response.writeHead(202).end();
      const capabilities = {
        protocolVersion: '2025-06-18',
        capabilities: {},
        serverInfo: { name: 'bad', version: '1' },
      };
      const result = asked.method === 'initialize' ? capabilities : { tools: [{ name: 'act', inputSchema: {} }] };
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ jsonrpc: '2.0', id: asked.id, result }));
    })();
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
  const toolset = mcpServer({ name: 'bad', http: { url } }).options.open(() => {});
  ends.push(async () => {
    await toolset.close();
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
  });
  const [found] = await toolset.discover(AbortSignal.timeout(60_000));
  const call = async (pinned: Partial<FoundTool> = {}) => {
    const { run } = toolset.bind({ ...(found as FoundTool), ...pinned });
    const signal = AbortSignal.timeout(30_000);
    return run({}, { signal, idempotency_key: 'key', progress() {} } as unknown as Parameters<typeof run>[1]);
  };
  return { seen, found, call };
}

const stream = { 'content-type': 'text/event-stream' };

describe('a server over HTTP', () => {
  it('is told when the toolset is closed, and its session is over', async () => {
    const server = await withFixture();
    const { toolset } = await openCaller(server);
    await toolset.close();
    expect(await server.log()).toContain('session closed');
  });

  it('gets the headers that it is to get', async () => {
    const server = await withFixture({ MCP_TOKEN: 'Bearer secret' });
    if (!('http' in server.server)) throw new Error('not over HTTP');
    const { url } = server.server.http;
    await expect(openCaller(server)).rejects.toMatchObject({ code: 'toolset_unavailable' });
    const http = { url, headers: { authorization: 'Bearer secret' } };
    const { call, toolset } = await openCaller({ ...server, server: { name: 'fixture', http } });
    expect(await call('echo', { text: 'hello' })).toBe('hello');
    await toolset.close();
  });

  it('is named without what may be secret in its address', async () => {
    const http = { url: 'http://127.0.0.1:1/mcp?key=secret', headers: { authorization: 'Bearer secret' } };
    const toolset = mcpServer({ name: 'far', http }).options.open(() => {});
    const error: unknown = await toolset.discover(AbortSignal.timeout(60_000)).catch((reason: unknown) => reason);
    expect(String(error)).toContain('MCP server "far" (http://127.0.0.1:1/mcp) did not list its tools');
    expect(String(error)).not.toContain('secret');
  });

  it.each(['no url', 'ftp://127.0.0.1/mcp', 'http://user:password@127.0.0.1/mcp'])(
    'is refused when it is defined at "%s"',
    (url) => {
      expect(() => mcpServer({ name: 'far', http: { url } })).toThrow(/^MCP server "far": its url .*headers/);
    },
  );

  it('is not kept a stream open to that nobody reads', async () => {
    const { seen } = await serveBadly((_asked, response) => response.end());
    expect(seen.filter((line) => line.startsWith('GET'))).toEqual([]);
  });
});

describe('a call over HTTP', () => {
  it('whose stream ends without an answer has failed at once', async () => {
    const { call } = await serveBadly((_asked, response) =>
      response.writeHead(200, stream).end(': nothing to say\n\n'),
    );
    expect(await failureOf(call())).toMatchObject({ kind: 'outcome_unknown', retryable: false });
    expect(await failureOf(call({ idempotent: true }))).toMatchObject({ kind: 'internal', retryable: true });
  });

  it('whose stream breaks has failed at once, and alone', async () => {
    const open: { id: number; response: ServerResponse }[] = [];
    const { call } = await serveBadly(({ id }, response) => {
      response.writeHead(200, stream).write(': wait\n\n');
      open.push({ id, response });
    });
    const first = failureOf(call());
    await until(() => open.length === 1, 'the first call');
    const second = call();
    await until(() => open.length === 2, 'the second call');
    open[0]?.response.destroy();
    expect((await first).kind).toBe('outcome_unknown');
    const result = { content: [{ type: 'text', text: 'well' }] };
    open[1]?.response.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id: open[1].id, result })}\n\n`);
    expect(await second).toBe('well');
  });

  it('that is answered with too much has failed', async () => {
    const { call } = await serveBadly((_asked, response) => {
      response.writeHead(200, stream);
      for (let n = 0; n < 20; n++) response.write(`: ${'x'.repeat(1024 * 1024)}\n\n`);
    });
    const failure = await failureOf(call({ idempotent: true }));
    expect(failure).toMatchObject({ kind: 'internal', retryable: false });
    expect(failure.message).toContain('larger than 16777216 bytes');
  });

  it('that is answered with something else has failed as malformed', async () => {
    const bodies = ['<html>', JSON.stringify({ jsonrpc: '2.0', id: 1 }), '"text"'];
    const { call } = await serveBadly(({ id }, response) => {
      const body = bodies.shift();
      if (body === undefined) return response.writeHead(200, { 'content-type': 'text/html' }).end('<html>');
      response.writeHead(200, { 'content-type': 'application/json' }).end(body.replace('"id":1', `"id":${id}`));
      return undefined;
    });
    for (let n = 0; n < 4; n++) expect(await failureOf(call())).toMatchObject({ kind: 'malformed_result' });
  });

  it('whose result is none of a tool has failed as malformed', async () => {
    const { call } = await serveBadly(({ id }, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result: { content: 'text' } }));
    });
    expect(await failureOf(call())).toMatchObject({ kind: 'malformed_result' });
  });

  it.each([
    [429, 'rate_limited', true],
    [401, 'internal', false],
    [403, 'internal', false],
    [500, 'internal', false],
    [503, 'internal', true],
    [504, 'outcome_unknown', false],
  ])('that is refused with %i has failed as %s', async (status, kind, retryable) => {
    const { call } = await serveBadly((_asked, response) => response.writeHead(status).end());
    expect(await failureOf(call())).toMatchObject({ kind, retryable });
  });

  it('to a server that is gone was not made', async () => {
    const { call } = await serveBadly(() => {});
    await ends.pop()?.();
    expect(await failureOf(call())).toMatchObject({
      kind: 'internal',
      retryable: true,
      message: expect.stringContaining('was not called') as string,
    });
  });
});
