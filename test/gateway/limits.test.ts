/** What one caller may take, what pages may call, and how the gateway ends. */
import { once } from 'node:events';
import { connect, Socket } from 'node:net';
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { Client, Connection } from '@temporalio/client';
import { createClient } from '../../client/index.js';
import type { Runs } from '../../client/index.js';
import { workerPolls } from '../../client/worker-polls.js';
import { createAddressSlots } from '../../gateway/limits/address-slots.js';
import { DEFAULT_LIMITS } from '../../gateway/limits/gateway-limits.js';
import type { GatewayLimits } from '../../gateway/limits/gateway-limits.js';
import { createRateLimit } from '../../gateway/limits/rate-limit.js';
import { createLog } from '../../gateway/log.js';
import { ROUTES } from '../../gateway/routes/table.js';
import { serveGateway } from '../../gateway/serve-gateway.js';
import type { Records } from '../../store/records.js';
import { recordsIn } from '../support/records.js';
import { script } from '../support/test-agents.js';
import { treeConfig } from '../support/tree-agents.js';
import { createWorld, until } from '../support/world.js';
import type { World } from '../support/world.js';
import { CATALOG, createOrgs, readRest, runPath, serveFor } from './gateway-world.js';
import type { Answer, GatewayWorld, Orgs } from './gateway-world.js';
import { pageFetch } from './page-fetch.js';

let world: World;
let orgs: Orgs;

beforeAll(async () => {
  world = await createWorld(treeConfig());
  orgs = await createOrgs();
});
afterAll(async () => {
  await world.end();
  await orgs.remove();
});

async function served(limits: Partial<GatewayLimits>, extra: object = {}): Promise<GatewayWorld> {
  const gateway = await serveFor(world, orgs.auth, { limits, ...extra });
  onTestFinished(() => gateway.stop());
  return gateway;
}

function code({ status, body }: Answer): [number, string | undefined] {
  return [status, (body['error'] as { code: string } | undefined)?.code];
}

/** What comes back for bytes that no client library would send. */
function raw(url: string, ...parts: string[]): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = connect(Number(port), hostname, () => parts.forEach((part) => socket.write(part)));
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    socket.on('error', (error: NodeJS.ErrnoException) => (error.code === 'ECONNRESET' ? resolve(text) : reject(error)));
    socket.on('close', () => resolve(text));
  });
}

async function hanging(): Promise<string> {
  const input = script([{ text: 'and so on', hang: true }]);
  const { run_id } = await world.client.runs.start({ agent_id: 'test.node', input, org_id: orgs.acme });
  onTestFinished(() => world.client.runs.cancel(run_id));
  return run_id;
}

describe('a stream whose key is revoked', () => {
  it('is cut as an early end, and leaves its run alone, whatever was asked for', async () => {
    const gateway = await served({ recheck_ms: 50 });
    const { key, id } = await orgs.keys.create({
      org_id: orgs.acme,
      user_id: 'eva',
      role: 'admin',
      profiles: ['user_chat'],
    });
    const runId = await hanging();
    const response = await fetch(`${gateway.url}${runPath(runId, '/events?on_disconnect=cancel&trailer=true')}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    expect(response.status).toBe(200);
    const reading = readRest(response.body!.getReader());
    const other = await fetch(`${gateway.url}${runPath(runId, '/events')}`, {
      headers: { authorization: `Bearer ${orgs.ann}` },
    });
    expect(await orgs.keys.revoke(id)).toBe(true);
    expect(await reading).not.toContain('"perdure":"end"');
    const { status, cancellation } = await world.client.runs.get(runId);
    expect([status, cancellation]).toEqual(['running', undefined]);
    // Nobody else notices.
    const { value } = await other.body!.getReader().read();
    expect(value?.length).toBeGreaterThan(0);
  });
});

describe('a request', () => {
  it('whose body is too large is refused, also where its length was not said', async () => {
    const gateway = await served({ body_bytes: 1_000 });
    const input = 'x'.repeat(2_000);
    expect(code(await gateway.as(orgs.ann).post('/v1/runs', { agent_id: 'test.node', input }))).toEqual([
      413,
      'input_too_large',
    ]);
    const stream = new Blob([JSON.stringify({ agent_id: 'test.node', input })]).stream();
    const headers = { authorization: `Bearer ${orgs.ann}`, 'content-type': 'application/json' };
    const init = { method: 'POST', body: stream, headers, duplex: 'half' } as RequestInit;
    const response = await fetch(`${gateway.url}/v1/runs`, init);
    expect(response.status).toBe(413);
    expect((await gateway.as(orgs.ann).get('/v1/agents')).status).toBe(200);
  });

  it('whose headers are too large is refused', async () => {
    const gateway = await served({ header_bytes: 2_000 });
    const answer = await gateway.as(orgs.ann).get('/healthz', { 'x-much': 'x'.repeat(4_000) });
    expect(code(answer)).toEqual([431, 'headers_too_large']);
  });

  it('that is no HTTP is refused', async () => {
    const gateway = await served({});
    expect(await raw(gateway.url, 'HELLO\r\n\r\n')).toMatch(/^HTTP\/1.1 400 [^]*"code":"invalid_request"/);
    expect(await raw(gateway.url, 'GET / HTTP/1.1\r\nhost: a b\r\nconnection: close\r\n\r\n')).toMatch(
      /^HTTP\/1.1 400 [^]*"code":"invalid_request"/,
    );
  });

  it('that is sent too slowly is given up, head or body', async () => {
    const gateway = await served({ header_timeout_ms: 300, request_timeout_ms: 600 });
    const late = /^HTTP\/1.1 408 [^]*"code":"request_timeout"/;
    expect(await raw(gateway.url, 'GET /healthz HTTP/1.1\r\nhost: x\r\n')).toMatch(late);
    const head = `POST /v1/runs HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${orgs.ann}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n`;
    expect(await raw(gateway.url, head, '{"agent_id"')).toMatch(late);
  });

  it('that comes too often has to wait, each principal for itself', async () => {
    let now = 1_000_000;
    const gateway = await served({ requests_per_second: 0.1, request_burst: 2 }, { now: () => now });
    const [ann, bob] = [gateway.as(orgs.ann), gateway.as(orgs.bob)];
    expect((await ann.get('/v1/agents')).status).toBe(200);
    expect((await ann.get('/v1/agents')).status).toBe(200);
    const refused = await ann.get('/v1/agents');
    expect(code(refused)).toEqual([429, 'rate_limited']);
    expect(refused.headers.get('retry-after')).toBe('10');
    expect((await bob.get('/v1/agents')).status).toBe(200);
    now += 10_000;
    expect((await ann.get('/v1/agents')).status).toBe(200);
    expect((await ann.get('/v1/agents')).status).toBe(429);
  });
});

describe('the rate limit', () => {
  it('takes nothing from anybody when the clock is set back', () => {
    let now = 1_000_000;
    const spend = createRateLimit({ ...DEFAULT_LIMITS, requests_per_second: 1, request_burst: 2 }, () => now);
    spend('ann');
    now -= 3_600_000;
    spend('ann');
    expect(() => spend('ann')).toThrow(/at once/);
    now += 1_000;
    spend('ann');
  });
});

describe('connections', () => {
  const ASK = 'GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n';

  /** Connected, and silent. */
  function idle(url: string, localAddress = '127.0.0.1'): Promise<Socket> {
    const { hostname, port } = new URL(url);
    return new Promise((resolve, reject) => {
      const socket = connect({ port: Number(port), host: hostname, localAddress }, () => resolve(socket));
      socket.once('error', reject);
      onTestFinished(() => void socket.destroy());
    });
  }

  it('are counted per address, refused in words beyond the limit, and free again when they close', async () => {
    const gateway = await served({ connections_per_address: 3 });
    const silent = await Promise.all([1, 2, 3].map(() => idle(gateway.url)));
    // Nothing is asked here: the answer comes by itself.
    expect(await raw(gateway.url)).toMatch(
      /^HTTP\/1.1 429 [^]*\r\nretry-after: 2\r\n[^]*"code":"too_many_connections"[^]*3 connections/,
    );
    expect(gateway.log()).not.toContain('/healthz');
    const other = await idle(gateway.url, '127.0.0.2');
    other.write(ASK);
    const [answer] = (await once(other, 'data')) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1.1 200 /);
    silent[0]?.destroy();
    await until(async () => (await raw(gateway.url, ASK)).startsWith('HTTP/1.1 200'), 'a free connection');
  });

  it('that are refused run no request, whatever they send', async () => {
    const gateway = await served({ connections_per_address: 1 });
    await idle(gateway.url);
    const ask = `GET /v1/agents HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${orgs.ann}\r\n\r\n`;
    for (let n = 0; n < 50; n++) expect(await raw(gateway.url, ask)).not.toContain('HTTP/1.1 200');
    expect(gateway.log()).not.toContain('/v1/agents');
  });

  it('that are refused run no request either where their end takes a while, and Node reads on until then', async () => {
    const gateway = await served({ connections_per_address: 1 });
    await idle(gateway.url);
    const { destroySoon } = Socket.prototype;
    const late = vi.spyOn(Socket.prototype, 'destroySoon').mockImplementation(function (this: Socket) {
      setTimeout(() => destroySoon.call(this), 500);
    });
    onTestFinished(() => late.mockRestore());
    const ask = `GET /v1/agents HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${orgs.ann}\r\n\r\n`;
    const said = await raw(gateway.url, ask);
    expect(said).toMatch(/^HTTP\/1.1 429 /);
    expect(said).not.toContain('HTTP/1.1 200');
    expect(gateway.log()).not.toContain('/v1/agents');
  });

  it('of one network of IPv6 are those of one address', () => {
    const slots = createAddressSlots(1);
    const isFree = (address: string) => slots.take(address) !== undefined;
    expect(isFree('2001:db8::1')).toBe(true);
    expect(isFree('2001:db8:0:0:ffff::2')).toBe(false);
    expect(isFree('2001:0db8::abcd:1:2:3')).toBe(false);
    expect(isFree('2001:db8:0:1::1')).toBe(true);
    expect(isFree('::1')).toBe(true);
    expect(isFree('fe80::1%eth0')).toBe(true);
    expect(isFree('fe80::2%eth1')).toBe(false);
    expect(isFree('::ffff:192.0.2.1')).toBe(true);
    expect(isFree('192.0.2.1')).toBe(false);
    expect(isFree('192.0.2.2')).toBe(true);
  });
});

describe('open streams', () => {
  it('are counted per principal, and free again when they end or the client goes', async () => {
    const gateway = await served({ open_streams: 2 });
    const runId = await hanging();
    const url = `${gateway.url}${runPath(runId, '/events')}`;
    const open = async () => {
      const leaving = new AbortController();
      const headers = { authorization: `Bearer ${orgs.ann}` };
      const response = await fetch(url, { headers, signal: leaving.signal });
      expect(response.status).toBe(200);
      await response.body?.getReader().read();
      return leaving;
    };
    const streams = [await open(), await open()];
    const ann = gateway.as(orgs.ann);
    expect(code(await ann.get(runPath(runId, '/events')))).toEqual([429, 'too_many_streams']);
    const body = { agent_id: 'test.node', input: 'x', thread_id: 'too-many' };
    expect(code(await ann.post('/v1/runs?stream=true', body))).toEqual([429, 'too_many_streams']);
    expect((await gateway.as(orgs.operator).get('/metrics')).text).toContain('perdure_open_streams 2\n');
    expect((await gateway.as(orgs.bob).get(runPath(runId, '/events?follow=false'))).status).toBe(200);
    streams[0]?.abort();
    await until(async () => (await ann.get(runPath(runId, '/events?follow=false'))).status === 200, 'a free place');
    streams[1]?.abort();
    const none = async () =>
      (await gateway.as(orgs.operator).get('/metrics')).text.includes('perdure_open_streams 0\n');
    await until(none, 'no stream to be open');
    expect((await world.client.runs.get(runId)).status).toBe('running');
  });
});

describe('pages of other origins', () => {
  it('may not call by default, and are told so in an answer that they can read', async () => {
    const gateway = await served({});
    const page = pageFetch('https://app.example');
    const headers = { authorization: `Bearer ${orgs.ann}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ agent_id: 'test.node', input: 'hello', run_id: 'refused-origin' });
    for (const init of [{ headers }, { headers, method: 'POST', body }, {}]) {
      const refused = await page(`${gateway.url}/v1/runs`, init);
      expect([refused.status, await refused.json()]).toEqual([
        403,
        {
          error: {
            code: 'origin_refused',
            message: 'pages of the origin "https://app.example" may not call this gateway.',
            next_step: expect.stringContaining('--cors-origins'),
            request_id: expect.any(String) as string,
          },
        },
      ]);
    }
    await expect(world.client.runs.get('refused-origin')).rejects.toThrow('there is no run');
    const thread = await page(`${gateway.url}/v1/ai/threads`, { headers });
    expect(await thread.json()).toMatchObject({ error: { message: expect.stringContaining('--cors-origins') } });
  });

  it('are refused by a browser’s word alone where a proxy may have changed the host', async () => {
    const gateway = await served({});
    const behind = { origin: 'https://gateway.example' };
    const answer = await gateway.as(orgs.ann).get('/v1/agents', behind);
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([200, null]);
    const own = { ...behind, 'sec-fetch-site': 'same-origin' };
    expect((await gateway.as(orgs.ann).get('/v1/agents', own)).status).toBe(200);
    const foreign = { ...behind, 'sec-fetch-site': 'same-site' };
    expect(code(await gateway.as(orgs.ann).get('/v1/agents', foreign))).toEqual([403, 'origin_refused']);
  });

  it('may where they are listed', async () => {
    const page = { origin: 'https://app.example' };
    const gateway = await served({}, { origins: ['https://app.example'] });
    const preflight = async (origin: string) =>
      (
        await fetch(`${gateway.url}/v1/runs`, {
          method: 'OPTIONS',
          headers: { origin, 'access-control-request-method': 'POST' },
        })
      ).headers;
    const allowed = await preflight('https://app.example');
    expect(allowed.get('access-control-allow-origin')).toBe('https://app.example');
    expect(allowed.get('access-control-allow-headers')).toContain('authorization');
    const listed = pageFetch('https://app.example');
    const read = await listed(`${gateway.url}/v1/agents`, { headers: { authorization: `Bearer ${orgs.ann}` } });
    expect(read.status).toBe(200);
    const answer = await gateway.as(orgs.ann).get('/v1/agents', page);
    expect(answer.headers.get('access-control-allow-origin')).toBe('https://app.example');
    expect(answer.headers.get('vary')).toContain('Origin');
    const refused = await gateway.as('nobody').get('/v1/agents', page);
    expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([401, 'https://app.example']);
  });

  it('reach nothing through the browser of somebody who runs it without auth', async () => {
    const gateway = await serveFor(world, { kind: 'off' });
    onTestFinished(() => gateway.stop());
    const { port } = new URL(gateway.url);
    const ask = (headers: string) =>
      raw(
        gateway.url,
        `POST /v1/runs/x/cancel HTTP/1.1\r\nconnection: close\r\ncontent-length: 0\r\n${headers}\r\n\r\n`,
      );
    expect(await ask(`host: localhost:${port}`)).toContain('"unknown_run"');
    expect(await ask(`host: localhost:${port}\r\norigin: http://localhost:${port}`)).toContain('"unknown_run"');
    expect(await ask(`host: localhost:${port}\r\norigin: https://evil.example`)).toContain('"origin_refused"');
    expect(await ask(`host: localhost:${port}\r\norigin: null`)).toContain('"origin_refused"');
    expect(await ask(`host: evil.example:${port}`)).toContain('"forbidden"');
    expect(await ask(`host: localhost:${port}\r\nsec-fetch-site: cross-site`)).toContain('"forbidden"');
    expect(await ask(`host: localhost:${port}\r\nsec-fetch-site: none`)).toContain('"unknown_run"');
    expect(await ask(`host: localhost.evil.example`)).toContain('"forbidden"');
  });
});

describe('a stream that fails', () => {
  it('is cut, and what went wrong is in the log and not in the stream', async () => {
    const failing = (async function* () {
      yield* (await world.run('test.node', script([{ text: 'x' }]))).slice(0, 2);
      throw new Error('secret.internal:7233 refused');
    })();
    const stream = () => Object.assign(failing, { cursor: () => '' });
    const gateway = await served({}, { runs: { ...world.client.runs, stream } });
    const runId = await hanging();
    const headers = { authorization: `Bearer ${orgs.ann}` };
    const response = await fetch(`${gateway.url}${runPath(runId, '/events')}`, { headers });
    await expect(response.text()).rejects.toThrow('terminated');
    await until(() => gateway.log().includes('secret.internal'), 'the cause in the log');
  });
});

describe('starting', () => {
  let records: Records;
  beforeAll(async () => {
    records = await recordsIn(world.server.dataDir);
  });
  afterAll(() => records.close());
  const options = () => ({
    runs: world.client.runs,
    threads: world.client.threads,
    records,
    artefacts: world.artefacts,
    payloads: world.storage.payloads,
    workerPolls: () => Promise.resolve(true),
    catalog: CATALOG,
    log: createLog({ write: () => {} }),
    port: 0,
    endStreams: () => Promise.resolve(),
  });

  it('is refused without auth, also on loopback', async () => {
    await expect(serveGateway({ ...options(), auth: undefined, host: '127.0.0.1' })).rejects.toThrow(
      /does not start without auth: give it API keys or a JWKS URL/,
    );
  });

  it('is refused where auth is off and others could connect', async () => {
    for (const host of ['0.0.0.0', '::', '10.0.0.1']) {
      await expect(serveGateway({ ...options(), auth: { kind: 'off' }, host })).rejects.toThrow(/only on loopback/);
    }
  });
});

describe('readyz', () => {
  it('says which part is missing', async () => {
    const ask = async (polls: () => Promise<boolean>) => {
      const gateway = await served({}, { workerPolls: polls });
      return gateway.as().get('/readyz');
    };
    const noWorker = await ask(() => workerPolls(world.temporal, `nobody-${randomUUID()}`));
    expect(code(noWorker)).toEqual([503, 'not_ready']);
    expect(noWorker.text).toContain('no worker polls');
    const goneWorker = await ask(() => workerPolls(world.temporal, world.server.taskQueue, Date.now() + 200_000));
    expect(code(goneWorker)).toEqual([503, 'not_ready']);
    const noServer = await ask(() => Promise.reject(new Error('connect 10.1.2.3:7233')));
    expect(code(noServer)).toEqual([503, 'not_ready']);
    expect(noServer.text).toContain('Temporal server');
    expect(noServer.text).not.toContain('10.1.2.3');
  });
});

describe('what goes wrong inside', () => {
  it('is told to the log and not to the caller', async () => {
    const runs = { ...world.client.runs, list: () => Promise.reject(new Error('password=hunter2 at db.internal')) };
    const gateway = await served({}, { runs });
    const answer = await gateway.as(orgs.ann).get('/v1/runs', { 'x-request-id': 'find-me' });
    expect(code(answer)).toEqual([500, 'internal']);
    expect(answer.text).not.toMatch(/hunter2|db\.internal|at .*\.ts/);
    expect(answer.text).toContain('find-me');
    const line = gateway
      .log()
      .split('\n')
      .find((each) => each.includes('request refused'));
    expect(JSON.parse(line ?? '{}')).toMatchObject({
      request_id: 'find-me',
      err: { message: expect.stringContaining('db.internal') },
    });
  });
});

describe('a Temporal server that gives no answer', () => {
  it('is 503, with when to try again and without its address', async () => {
    const temporal = new Client({ connection: Connection.lazy({ address: '127.0.0.1:1' }) });
    const { runs, threads } = createClient({ client: temporal });
    const gateway = await served({}, { runs, threads, workerPolls: () => workerPolls(temporal) });
    const answer = await gateway.as(orgs.ann).get(runPath('any'));
    expect(code(answer)).toEqual([503, 'server_unreachable']);
    expect(answer.headers.get('retry-after')).toBe('2');
    expect(answer.text).not.toContain('127.0.0.1');
    expect(code(await gateway.as().get('/readyz'))).toEqual([503, 'not_ready']);

    const bodies: Record<string, object> = {
      '/v1/runs': { agent_id: 'test.node', input: 'hello' },
      '/v1/ai/threads': { messages: ['hello'] },
      '/v1/ai/threads/{thread_id}/messages': { message: 'hello' },
      '/v1/ai/threads/{thread_id}/fork': { message_sequence_num: 0 },
    };
    const asked = ROUTES.filter(({ access, path, method }) => {
      const isKept = /catalog|agents|profiles|feedback|metrics|chats/.test(path);
      return access !== 'open' && !isKept && (method === 'GET' || path in bodies || path.endsWith('/cancel'));
    });
    expect(asked.length).toBeGreaterThan(12);
    const answers = await Promise.all(
      asked.map(async ({ method, path }) => {
        const place = path.replaceAll(/\{\w+\}/g, 'any');
        const query = path.endsWith('/delta') ? '?next_token=x' : '';
        const { status, text } = await gateway
          .as(orgs.ann)
          .call(method, place + query, method === 'GET' ? undefined : bodies[path]);
        return { route: `${method} ${path}`, status, text };
      }),
    );
    for (const { route, status, text } of answers) {
      expect({ route, status }).toEqual({ route, status: 503 });
      expect(text).not.toMatch(/[A-Z]{3,}_?[A-Z]*:|DEADLINE|UNAVAILABLE|Deadline|gRPC|127\.0\.0\.1|Failed to/);
    }
  });
});

describe('stopping', () => {
  it('ends open streams early, which does not look like an end of the run, and takes no more', async () => {
    const client = createClient({ client: world.temporal });
    const gateway = await serveFor(world, orgs.auth, {
      runs: client.runs,
      endStreams: () => client.close(),
    } as Parameters<typeof serveFor>[2]);
    const runId = await hanging();
    const response = await fetch(`${gateway.url}${runPath(runId, '/events')}`, {
      headers: { authorization: `Bearer ${orgs.ann}` },
    });
    const reader = response.body!.getReader();
    const first = Buffer.from((await reader.read()).value ?? []).toString();
    const stopped = gateway.stop();
    const text = first + (await readRest(reader));
    await stopped;
    expect(text).toContain('run_started');
    expect(text).not.toContain('run_completed');
    await expect(fetch(`${gateway.url}/healthz`)).rejects.toThrow();
    expect((await world.client.runs.get(runId)).status).toBe('running');
  });

  it('cancels no run of a reader who had asked for that and did not leave', async () => {
    const asked: string[] = [];
    const cancel = (runId: string) => Promise.resolve(void asked.push(runId));
    let over = 0;
    const stream: Runs['stream'] = (...of) => {
      const opened = world.client.runs.stream(...of);
      const end = opened.return!.bind(opened);
      return Object.assign(opened, { return: () => end().finally(() => (over += 1)) });
    };
    const runs = { ...world.client.runs, cancel, stream };
    const gateway = await serveFor(world, orgs.auth, { stopGraceMs: 100, runs });
    const { run_id } = await world.client.runs.start({
      agent_id: 'test.node',
      input: script([{ text: 'and so on', hang: true }]),
      org_id: orgs.acme,
      created_by: 'ann',
    });
    onTestFinished(() => world.client.runs.cancel(run_id));
    const opened = (signal?: AbortSignal) =>
      fetch(`${gateway.url}${runPath(run_id, '/events?on_disconnect=cancel')}`, {
        headers: { authorization: `Bearer ${orgs.ann}` },
        ...(signal === undefined ? {} : { signal }),
      });
    const staying = (await opened()).text();
    const leaving = new AbortController();
    await opened(leaving.signal);
    leaving.abort();
    await until(() => asked.length === 1, 'the cancel of the one who left');
    await Promise.all([gateway.stop(), expect(staying).rejects.toThrow()]);
    await until(() => over === 2, 'the end of both streams');
    expect(asked).toEqual([run_id]);
  });

  it('does not wait for ever for somebody who does not read', async () => {
    const gateway = await serveFor(world, orgs.auth, { stopGraceMs: 300 });
    const runId = await hanging();
    const response = await fetch(`${gateway.url}${runPath(runId, '/events')}`, {
      headers: { authorization: `Bearer ${orgs.ann}` },
    });
    const reading = response.text();
    await Promise.all([gateway.stop(), expect(reading).rejects.toThrow()]);
  });
});
