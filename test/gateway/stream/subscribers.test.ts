/** Many readers of one run, slow ones, and those who go. */
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '@temporalio/client';
import type { WorkflowClientInterceptor } from '@temporalio/client';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createClient } from '../../../client/index.js';
import type { PerdureClient, Runs } from '../../../client/index.js';
import { streamRun } from '../../../gateway/stream/stream-run.js';
import { connectClient } from '../../../worker/create-worker.js';
import { script, testConfig } from '../../support/test-agents.js';
import { createWorld, until } from '../../support/world.js';
import type { World } from '../../support/world.js';
import { jsonLines, read } from './read-stream.js';
import { serveStreams } from './stream-server.js';
import type { StreamServer } from './stream-server.js';
import { testDialects } from './test-dialects.js';

const SUBSCRIBERS = 200;
const words = (count: number, size = 8) => Array.from({ length: count }, (_, n) => `${n}`.padEnd(size, '.'));
const hanging = script([{ text: ['Well, ', 'now'], hang: true }]);

describe('subscribers', () => {
  let world: World;
  let server: StreamServer;
  beforeAll(async () => {
    world = await createWorld(testConfig());
  });
  beforeEach(async () => {
    server = await serveStreams(world.client.runs);
  });
  afterEach(() => server.close());
  afterAll(() => world.end());

  /** With the last word, unless a query says otherwise. */
  const at = (runId: string, query = '', { url } = server) => {
    const asked = query.includes('trailer=') ? '' : `${query === '' ? '?' : '&'}trailer=true`;
    return `${url}/v1/runs/${runId}/events${query}${asked}`;
  };
  const start = async (input: string) => (await world.client.runs.start({ agent_id: 'test.agent', input })).run_id;

  /** A client with feeds of its own, and how many queries it has sent. */
  function countingClient(): { client: PerdureClient; queries: () => number } {
    let queries = 0;
    const { namespace, taskQueue } = world.server;
    const counting: WorkflowClientInterceptor = {
      query(input, next) {
        queries += 1;
        return next(input);
      },
    };
    const { connection } = world.temporal;
    const temporal = new Client({ connection, namespace, interceptors: { workflow: [counting] } });
    return { client: createClient({ client: temporal, taskQueue, live: 'temporal' }), queries: () => queries };
  }

  it(`${SUBSCRIBERS} of one run have one feed behind them: as many queries as one has`, async () => {
    const [alone, crowd] = [countingClient(), countingClient()];
    const servers = [await serveStreams(alone.client.runs), await serveStreams(crowd.client.runs)] as const;
    const { run_id } = await alone.client.runs.start({
      agent_id: 'test.agent',
      input: script([{ text: words(60), delay_ms: 40 }]),
    });
    const queries = ['?dialect=perdure', '?dialect=triple&format=sse', '?envelope=true', '?from=0&profile=user_chat'];
    const one = read(at(run_id, '', servers[0]));
    const many = await Promise.all(
      Array.from({ length: SUBSCRIBERS }, (_, n) => read(at(run_id, queries[n % queries.length], servers[1]))),
    );
    const { text } = await one;
    const durable = (lines: string) => lines.split('\n').filter((line) => line.includes('"seq"'));
    for (const [n, reading] of many.entries()) {
      expect(reading).toMatchObject({ status: 200, cut: false });
      expect(reading.text).toContain('"reason":"completed"');
      if (n % queries.length === 0) expect(durable(reading.text)).toEqual(durable(text));
    }
    expect(alone.queries()).toBeGreaterThan(5);
    expect(crowd.queries()).toBeLessThan(alone.queries() * 2);
    for (const each of servers) await each.close();
    await Promise.all([alone.client.close(), crowd.client.close()]);
  });

  it('those who come, or come back, just after the end cost no more queries than the first of them', async () => {
    const { client, queries } = countingClient();
    const late = await serveStreams(client.runs);
    const runId = await start(script([{ text: words(20) }]));
    const log = await world.logOf(runId);
    const first = await read(at(runId, '', late));
    const before = queries();
    expect(before).toBeGreaterThan(0);
    for (const from of ['0', '3.0', '-2', `${log.length - 1}.0`]) {
      const again = await Promise.all(Array.from({ length: 5 }, () => read(at(runId, `?from=${from}`, late))));
      for (const { text } of again) expect(first.text.endsWith(text) && text !== '').toBe(true);
    }
    expect(queries()).toBe(before);
    await late.close();
    await client.close();
  });

  it('one that reads a byte a second delays nobody', async () => {
    const text = words(4_000, 60);
    const runId = await start(script([{ thinking: text, text, delay_ms: 1 }]));
    const slow = readSlowly(server, runId);
    const fast = await Promise.all([read(at(runId)), read(at(runId, '?format=sse'))]);
    for (const { text: got, cut } of fast) {
      expect(cut).toBe(false);
      expect(got).toContain('"reason":"completed"');
    }
    expect(slow.bytes()).toBeGreaterThan(0);
    expect(slow.bytes()).toBeLessThan(1_000);
    expect(server.open()).toBe(1);
    slow.socket.destroy();
    await until(() => server.open() === 0, 'the slow one to be gone');
    expect(server.failures).toEqual([]);
  });

  it('one that does not read holds one event, and what its subscription holds', async () => {
    let taken = 0;
    const runs: Runs = {
      ...world.client.runs,
      stream(runId, options) {
        const stream = world.client.runs.stream(runId, options);
        const next = () => {
          taken += 1;
          return stream.next();
        };
        return Object.assign(Object.create(stream) as typeof stream, { next });
      },
    };
    const text = words(1_500, 40);
    const runId = await start(script([{ thinking: text, text }]));
    const context = {
      runs,
      runId,
      query: new URLSearchParams(),
      headers: new Headers(),
      profile: 'agent_debug' as const,
    };
    const response = await streamRun({ ...context, signal: new AbortController().signal }, testDialects);
    const log = await world.logOf(runId);
    expect(taken).toBe(0);
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    const first = await reader.read();
    const before = taken;
    await sleep(50);
    // One chunk was asked for: nothing is taken beyond it.
    expect(taken - before).toBe(0);
    const longest = Math.max(...log.map((event) => JSON.stringify(event).length));
    expect(first.value?.byteLength ?? 0).toBeLessThan(32 * 1024 + longest + 1);
    const decoder = new TextDecoder();
    let rest = decoder.decode(first.value, { stream: true });
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
      rest += decoder.decode(chunk.value, { stream: true });
    }
    const seen = jsonLines(rest).filter((line) => 'seq' in line);
    expect(seen).toEqual(log);
  });

  it('one who goes leaves the run alone', async () => {
    const runId = await start(hanging);
    await read(at(runId), { enough: (text) => text.includes('now') });
    await until(() => server.open() === 0, 'the stream to be closed');
    expect(await world.client.runs.get(runId)).toMatchObject({ status: 'running' });
    await world.client.runs.cancel(runId);
    expect(server.failures).toEqual([]);
  });

  it('one who goes cancels the run if that was asked for', async () => {
    const runId = await start(hanging);
    await read(at(runId, '?on_disconnect=cancel'), { enough: (text) => text.includes('now') });
    const log = await world.logOf(runId);
    expect(log.at(-1)).toMatchObject({ status: 'canceled', cancellation: { reason: 'user_requested' } });
    expect(server.failures).toEqual([]);
  });

  it('one who had the end cancels nothing, and nothing fails', async () => {
    const runId = await start(script([{ text: 'Done.' }]));
    await world.logOf(runId);
    await read(at(runId, '?on_disconnect=cancel'));
    await until(() => server.open() === 0, 'the stream to be closed');
    expect((await world.logOf(runId)).at(-1)).toMatchObject({ status: 'success' });
    expect(server.failures).toEqual([]);
  });

  it.each(['', '?trailer=false', '?format=sse', '?on_disconnect=cancel'])(
    'an end before the end (%s) breaks the connection, has no last word, and cancels nothing',
    async (query) => {
      const other = await connectClient(world.server);
      const stopping = await serveStreams(other.client.runs, { heartbeatMs: 50 });
      const runId = await start(hanging);
      const reading = read(at(runId, query, stopping));
      await until(() => stopping.open() === 1, 'the stream');
      await until(async () => (await world.client.runs.get(runId)).steps.length === 1, 'the first step');
      await other.close();
      const { text, cut } = await reading;
      expect(cut).toBe(true);
      expect(text).not.toContain('"perdure":"end"');
      expect(stopping.open()).toBe(0);
      expect(stopping.failures).toMatchObject([{ code: 'server_unreachable' }]);
      await stopping.close();
      expect(await world.client.runs.get(runId)).toMatchObject({ status: 'running' });
      await world.client.runs.cancel(runId);
    },
  );
});

/** One byte, and a second later the next one. */
function readSlowly({ url }: StreamServer, runId: string): { socket: Socket; bytes: () => number } {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  let bytes = 0;
  socket.write(`GET /v1/runs/${runId}/events?trailer=true HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`);
  socket.pause();
  const timer = setInterval(() => {
    if (socket.read(1) !== null) bytes += 1;
  }, 1_000);
  socket.once('close', () => clearInterval(timer));
  socket.on('error', () => {});
  return { socket, bytes: () => bytes };
}
