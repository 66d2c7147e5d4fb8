/** The client over HTTP, against a gateway's streams and against servers that misbehave. */
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createHttpClient } from '../../../client/http/index.js';
import type { HttpClient } from '../../../client/http/index.js';
import { serveFor } from '../../gateway/gateway-world.js';
import { pageFetch } from '../../gateway/page-fetch.js';
import type { GatewayWorld } from '../../gateway/gateway-world.js';
import { serveStreams } from '../../gateway/stream/stream-server.js';
import type { StreamServer } from '../../gateway/stream/stream-server.js';
import { call, script } from '../../support/test-agents.js';
import { ask, child, treeConfig } from '../../support/tree-agents.js';
import { collect, createWorld, durable, ofType, until } from '../../support/world.js';
import type { World } from '../../support/world.js';

describe('the client over HTTP', () => {
  let world: World;
  let gateway: GatewayWorld;
  /** Counts its streams. */
  let server: StreamServer;
  let client: HttpClient;
  beforeAll(async () => {
    world = await createWorld(treeConfig());
    server = await serveStreams(world.client.runs, { heartbeatMs: 50 });
    gateway = await serveFor(world, { kind: 'off' });
    client = createHttpClient({ url: `${gateway.url}/` });
  });
  afterAll(async () => {
    await client.close();
    await gateway.stop();
    await server.close();
    await world.end();
  });
  const start = async (input: string) => (await client.runs.start({ agent_id: 'test.node', input })).run_id;
  const refusalOf = (request: Parameters<HttpClient['runs']['start']>[0]) =>
    client.runs.start(request).then(
      () => '',
      (error: unknown) => (error as Error).message,
    );
  const hanging = script([{ text: ['Well, ', 'now'], hang: true }]);

  it('starts a run, streams it live, and reads it', async () => {
    const text = Array.from({ length: 20 }, (_, n) => `w${n} `);
    const input = script([
      { text: 'x', tool_calls: [call('tools.echo', { text: 'a' })] },
      { text, delay_ms: 20 },
    ]);
    const handle = await client.runs.start({ agent_id: 'test.node', input });
    expect(handle).toEqual({ run_id: handle.run_id, agent_id: 'test.node', root_run_id: handle.run_id });
    const events = await collect(client.runs.stream(handle.run_id));
    expect(durable(events)).toEqual(await world.logOf(handle.run_id));
    expect(events.filter((event) => event.type === 'text_chunk').length).toBeGreaterThan(5);
    expect(await client.runs.get(handle.run_id)).toEqual(await world.client.runs.get(handle.run_id));
    expect(await client.runs.result(handle.run_id)).toEqual(events.at(-1));
  });

  it('is told by the gateway that pages of its origin may not call, and is not where they may', async () => {
    const fetch = pageFetch('http://localhost:5173');
    const page = createHttpClient({ url: gateway.url, fetch });
    const refused = {
      code: 'origin_refused',
      message: expect.stringMatching(/"http:\/\/localhost:5173".*--cors-origins/),
    };
    await expect(page.runs.start({ agent_id: 'test.node', input: hanging })).rejects.toMatchObject(refused);
    await expect(page.runs.get('any')).rejects.toMatchObject(refused);
    // And does not try for two minutes.
    await expect(collect(page.runs.stream('any'))).rejects.toMatchObject(refused);
    const listing = await serveFor(world, { kind: 'off' }, { origins: ['http://localhost:5173'] });
    onTestFinished(() => listing.stop());
    const listed = createHttpClient({ url: listing.url, fetch });
    const { run_id } = await listed.runs.start({ agent_id: 'test.node', input: script([{ text: 'Hello.' }]) });
    expect((await collect(listed.runs.stream(run_id))).at(-1)).toMatchObject({
      type: 'run_completed',
      answer: 'Hello.',
    });
  });

  it('answers a pause of a child by its id, which has a slash, and cancels', async () => {
    const runId = await start(
      script([{ tool_calls: [child([{ tool_calls: [ask('When?')] }, { text: 'ok' }])] }, { text: 'end' }]),
    );
    for await (const event of client.runs.stream(runId, { children: 'flattened' })) {
      if (event.type !== 'await_clarification') continue;
      expect(event.run_id).toContain('/');
      await client.runs.answerClarification(event.run_id, { await_id: event.await_id, answer: 'now' });
    }
    const resolved = ofType(await world.logOf(`${runId}/call_1_1`), 'await_resolved');
    expect(resolved).toMatchObject([{ resolution: 'answered' }]);
    const going = await start(hanging);
    await client.runs.cancel(going, { note: 'enough' });
    expect(await client.runs.result(going)).toMatchObject({ status: 'canceled', cancellation: { note: 'enough' } });
  });

  it('goes on from its cursor, also in another client and at the end', async () => {
    const runId = await start(
      script([{ text: 'one two three', tool_calls: [call('tools.echo', { text: 'a' })] }, { text: 'end' }]),
    );
    const log = await world.logOf(runId);
    const first = client.runs.stream(runId);
    const seen = [];
    for await (const event of first) if (seen.push(event) === 5) break;
    const other = createHttpClient({ url: gateway.url });
    const rest = other.runs.stream(runId, { cursor: first.cursor() });
    expect(durable([...seen, ...(await collect(rest))])).toEqual(log);
    expect(await collect(other.runs.stream(runId, { cursor: rest.cursor() }))).toEqual([]);
    expect(await collect(client.runs.stream(runId, { from: -2 }))).toEqual(log.slice(-2));
    expect(durable(await collect(client.runs.stream(runId, { follow: false })))).toEqual(log);
  });

  it('ends with the marker where the engine ended the run', async () => {
    const runId = await start(hanging);
    const reading = collect(client.runs.stream(runId));
    await until(async () => (await world.client.runs.get(runId)).steps.length === 1, 'the first step');
    await world.temporal.workflow.getHandle(runId).terminate('test');
    const events = await reading;
    expect(events.filter((event) => event.type === 'stream_ended')).toMatchObject([{ reason: 'terminated' }]);
    await expect(client.runs.result(runId)).rejects.toMatchObject({ code: 'run_ended' });
  });

  it('an abort, a return or a close ends the stream at once, not the run', async () => {
    const runId = await start(hanging);
    const [closing, counted] = [createHttpClient({ url: server.url }), createHttpClient({ url: server.url })];
    const aborting = new AbortController();
    const streams = [
      counted.runs.stream(runId, { signal: aborting.signal }),
      closing.runs.stream(runId),
      counted.runs.stream(runId),
    ] as const;
    const readings = streams.map((stream) => collect(stream));
    await until(() => server.open() >= 3, 'three readers');
    aborting.abort();
    await closing.close();
    await streams[2].return?.();
    const events = await Promise.all(readings);
    expect(events.flat().filter((event) => event.type === 'run_completed')).toEqual([]);
    expect(await collect(client.runs.stream(runId, { signal: AbortSignal.abort() }))).toEqual([]);
    await until(() => server.open() === 0, 'the streams to be closed');
    expect(await world.client.runs.get(runId)).toMatchObject({ status: 'running' });
    await world.client.runs.cancel(runId);
  });

  it('throws what the gateway refuses, with its code and message, and does not try again', async () => {
    await expect(client.runs.get('run_nowhere')).rejects.toMatchObject({ code: 'unknown_run', http_status: 404 });
    const refused = {
      code: 'invalid_request',
      message: expect.stringMatching(/agent_id.*\. Correct what is named and try again\.$/),
    };
    await expect(client.runs.start({ agent_id: 'nonsense', input: 'x' })).rejects.toMatchObject(refused);
    const [, ...again] = (await refusalOf({ agent_id: 'nonsense', input: 'x' })).split('Correct what is named');
    expect(again).toHaveLength(1);
    const runId = await start(script([{ text: 'x' }]));
    await world.logOf(runId);
    const stream = client.runs.stream(runId, { cursor: 'nonsense' });
    await expect(collect(stream)).rejects.toMatchObject({ code: 'invalid_request', http_status: 400 });
    expect(() => client.runs.stream(runId, { from: 1, cursor: '1.0' })).toThrow(/give one of them/);
    expect(() => createHttpClient({ url: 'ftp://x' })).toThrow(/is no address of a gateway/);
  });
});

describe('a stream over HTTP that is disturbed', () => {
  const envelope = (seq: number) =>
    `{"cursor":"${seq}.0","run_id":"r","seq":${seq},"data":{"type":"notice_posted","seq":${seq}}}\n`;
  const end = '{"perdure":"end","reason":"completed","status":"success","run_id":"r","cursor":"9.0"}\n';
  type Answer = (response: ServerResponse, request: IncomingMessage) => void;

  /** Answers one request after another; what was asked of it. */
  async function serverOf(...answers: Answer[]): Promise<{ url: string; asked: URL[]; tokens: unknown[] }> {
    const asked: URL[] = [];
    const tokens: unknown[] = [];
    const server = await new Promise<Server>((resolve) => {
      const listening = createServer((request, response) => {
        asked.push(new URL(request.url ?? '', 'http://x'));
        tokens.push(request.headers.authorization);
        (answers[asked.length - 1] ?? answers.at(-1))?.(response, request);
      }).listen(0, '127.0.0.1', () => resolve(listening));
    });
    onTestFinished(() => {
      server.close();
      server.closeAllConnections();
    });
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked, tokens };
  }
  const cleanEnd =
    (...lines: string[]): Answer =>
    (response) =>
      void response.end(lines.join(''));
  const cut =
    (...lines: string[]): Answer =>
    (response) =>
      void response.write(lines.join(''), () => setTimeout(() => response.destroy(), 20));
  const status =
    (code: number, headers = {}, body = ''): Answer =>
    (response) =>
      void response.writeHead(code, headers).end(body);
  const read = (url: string, options = {}) => collect(createHttpClient({ url, ...options }).runs.stream('a/b'));

  it('says what a page can find out where an answer without leave to be read comes from elsewhere', async () => {
    vi.stubGlobal('location', { origin: 'http://localhost:5173' });
    onTestFinished(() => void vi.unstubAllGlobals());
    const { url } = await serverOf(status(502));
    const page = createHttpClient({ url, fetch: pageFetch('http://localhost:5173') });
    await expect(page.runs.get('any')).rejects.toMatchObject({
      code: 'server_unreachable',
      message: expect.stringContaining('may not let pages of http://localhost:5173 read its answers'),
    });
  });

  it('goes on after cuts, clean ends without a last word and 502 to 504, always behind the last whole line', async () => {
    const { url, asked } = await serverOf(
      cut(envelope(0), '\n', envelope(1), envelope(2).slice(0, 20)),
      status(503, { 'retry-after': '0' }),
      cleanEnd(envelope(2)),
      status(502),
      cut(),
      status(504, {}, '<html>'),
      cleanEnd(envelope(3), end),
    );
    expect(await read(url)).toMatchObject([{ seq: 0 }, { seq: 1 }, { seq: 2 }, { seq: 3 }]);
    expect(asked.map(({ searchParams }) => searchParams.get('from'))).toEqual([
      null,
      '1.0',
      '1.0',
      '2.0',
      '2.0',
      '2.0',
      '2.0',
    ]);
    expect(asked[0]?.pathname).toBe('/v1/runs/a%2Fb/events');
    expect(Object.fromEntries(asked[0]?.searchParams ?? [])).toEqual({
      dialect: 'perdure',
      format: 'ndjson',
      envelope: 'true',
      trailer: 'true',
    });
  });

  it('a line that arrives in pieces, cut inside a character, is one line', async () => {
    const bytes = Buffer.from(`{"cursor":"0.0","run_id":"r","data":{"type":"notice_posted","text":"grün 🌳"}}\n${end}`);
    const { url } = await serverOf((response) => {
      let at = 0;
      const timer = setInterval(() => {
        if (at < bytes.length) response.write(bytes.subarray(at, (at += 7)));
        else response.end(() => clearInterval(timer));
      }, 2);
    });
    expect(await read(url)).toEqual([{ type: 'notice_posted', text: 'grün 🌳' }]);
  });

  it('a connection on which nothing is heard is given up, and another one opened', async () => {
    const { url, asked } = await serverOf(
      (response) => void response.write(envelope(0)),
      () => {},
      cleanEnd(envelope(1), end),
    );
    expect(await read(url, { silenceMs: 150 })).toMatchObject([{ seq: 0 }, { seq: 1 }]);
    expect(asked).toHaveLength(3);
  });

  it('gives up where it cannot connect for too long', async () => {
    const { url, asked } = await serverOf(status(503));
    await expect(read(url, { giveUpAfterMs: 300 })).rejects.toMatchObject({ code: 'server_unreachable' });
    expect(asked.length).toBeGreaterThan(1);
    await expect(read('http://127.0.0.1:1', { giveUpAfterMs: 0 })).rejects.toMatchObject({
      code: 'server_unreachable',
      message: expect.stringContaining('http://127.0.0.1:1 gave no answer'),
    });
  });

  it('a refusal in the middle is thrown: an unknown code is named, fields too', async () => {
    const error = { code: 'no_such_code', message: 'No.', issues: [{ path: 'from', message: 'must be good' }] };
    const { url, tokens } = await serverOf(cut(envelope(0)), status(403, {}, JSON.stringify({ error })));
    await expect(read(url, { token: 'secret' })).rejects.toMatchObject({
      code: 'invalid_request',
      http_status: 403,
      message: expect.stringContaining('(no_such_code): from: must be good'),
    });
    expect(tokens).toEqual(['Bearer secret', 'Bearer secret']);
  });

  it('who comes back with too many others waits and goes on; who comes first is refused', async () => {
    const tooMany = (code: string) => status(429, { 'retry-after': '0' }, JSON.stringify({ error: { code } }));
    const { url } = await serverOf(
      cut(envelope(0)),
      tooMany('rate_limited'),
      tooMany('too_many_streams'),
      status(429, {}, '<html>'),
      cleanEnd(envelope(1), end),
    );
    expect(await read(url)).toMatchObject([{ seq: 0 }, { seq: 1 }]);
    const refusing = await serverOf(tooMany('too_many_streams'));
    await expect(read(refusing.url)).rejects.toMatchObject({ code: 'too_many_streams' });
  });

  it('tells warnings, and an end in the engine that its dialect had no words for', async () => {
    const warning = '{"perdure":"warning","run_id":"r","message":"hm"}\n';
    const ended = '{"perdure":"end","reason":"timed_out","message":"m","run_id":"r","cursor":"0.end"}\n';
    const { url } = await serverOf(cleanEnd(envelope(0), warning, ended));
    const warnings: string[] = [];
    const { runs } = createHttpClient({ url });
    const events = await collect(runs.stream('r', { onWarning: (...said) => warnings.push(said.join(' ')) }));
    expect(events.at(-1)).toEqual({ type: 'stream_ended', run_id: 'r', reason: 'timed_out', message: 'm' });
    expect(warnings).toEqual(['hm r']);
  });

  it('lists with its filter, and uses the fetch that it is given', async () => {
    const { url, asked } = await serverOf(cleanEnd('{"runs":[],"next_cursor":"n"}'));
    let calls = 0;
    const counting: typeof fetch = (...request) => {
      calls += 1;
      return fetch(...request);
    };
    const { runs } = createHttpClient({ url, fetch: counting });
    expect(await runs.list({ agent_id: 'a.b', limit: 5 })).toEqual({ runs: [], next_cursor: 'n' });
    expect([asked[0]?.search, calls]).toEqual(['?agent_id=a.b&limit=5', 1]);
  });
});
