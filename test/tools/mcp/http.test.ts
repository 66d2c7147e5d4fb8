/** What is special to a server over HTTP: sessions, credentials, streams that are cut, answers that are none. */
import type { ServerResponse } from 'node:http';
import { inspect } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { mcpServer } from '../../../tools/index.js';
import { until } from '../../support/world.js';
import { startBadServer } from './bad-server.js';
import type { OnCall } from './bad-server.js';
import { anyRun, failureOf, openCaller } from './calling.js';
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

const serveBadly = async (onCall: OnCall) => {
  const server = await startBadServer({ onCall });
  ends.push(() => server.stop());
  await server.discover();
  return server;
};

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
    const error: unknown = await toolset
      .discover(AbortSignal.timeout(60_000), anyRun)
      .catch((reason: unknown) => reason);
    expect(String(error)).toContain('MCP server "far" (http://127.0.0.1:1/mcp) did not list its tools');
    expect(String(error)).not.toContain('secret');
  });

  it('has no credential repeated by its errors, whatever the form, nor by one that cannot be sent', async () => {
    const token = 'tk-W8zQ4nX7vB2m';
    const server = await startBadServer({
      headers: { authorization: `Bearer ${token}`, 'x-shop-key': 'Lw9Yd3Kp6Rt' },
      onCall({ id, params }, response, { headers }) {
        const message = `refused ${headers.authorization} (${String(headers['x-shop-key']).slice(2, 9)})`;
        const { status } = (params ?? {}).arguments as { status: number };
        response.writeHead(status, { 'content-type': 'application/json' });
        const error = { code: -32_000, message: `${message}, ${Buffer.from(message).toString('base64')}` };
        const content = [{ type: 'text', text: message }];
        const said = status === 201 ? { result: { isError: true, content } } : { error };
        response.end(JSON.stringify({ jsonrpc: '2.0', id, ...said }));
      },
    });
    ends.push(() => server.stop());
    for (const status of [200, 201, 409, 500]) {
      const { message } = await failureOf(server.call({}, { status }));
      expect(message).toContain('refused Bearer [hidden] ([hidden])');
      expect(message).not.toMatch(/W8zQ4n|9Yd3Kp|VnplZCBC/);
    }
    const bad = { url: 'http://127.0.0.1:1/mcp', headers: { authorization: `Bearer ${token}\nmore` } };
    const toolset = mcpServer({ name: 'far', http: bad }).options.open(() => {});
    const error: unknown = await toolset.discover(AbortSignal.timeout(60_000), anyRun).catch((e: unknown) => e);
    expect(inspect(error, { depth: 9 })).toContain('did not list its tools');
    expect(inspect(error, { depth: 9 })).not.toMatch(/W8zQ4n|X7vB2m/);
  });

  it('has no credential in its lines, its progress or the names of its list, nor one that is in its address', async () => {
    const [token, key] = ['tk-W8zQ4nX7vB2m', 'Lw9Yd3Kp6Rt'];
    const said = `has ${token} and ${key.slice(2, 9)}`;
    const hidden = 'has [hidden] and [hidden]';
    const unfit = { name: said, description: 'x'.repeat(20_000), inputSchema: {} };
    const [optional, needed] = await Promise.all(
      [true, false].map((isOptional) =>
        startBadServer({
          query: `?api_key=${key}`,
          headers: { authorization: `Bearer ${token}` },
          options: { optional: isOptional },
          list: () => ({ tools: [unfit, { name: 'act', inputSchema: {} }] }),
          onCall({ id, params }, response) {
            const progress = { progressToken: params?._meta?.progressToken, progress: 1, message: said };
            const result = { content: [{ type: 'text', text: 'done' }] };
            response.writeHead(200, stream);
            for (const message of [
              { method: 'notifications/progress', params: progress },
              { id, result },
            ])
              response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`);
            response.end();
          },
        }),
      ),
    );
    for (const server of [optional, needed]) ends.push(() => server!.stop());
    const notes: string[] = [];
    expect(await optional!.call({}, {}, { progress: (note) => void notes.push(note) })).toBe('done');
    expect(notes).toEqual([hidden]);
    expect(optional!.reported).toEqual([expect.stringContaining(`its tool "${hidden}" cannot be taken`)]);
    await expect(needed!.discover()).rejects.toThrow(`its tool "${hidden}" cannot be taken`);
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
