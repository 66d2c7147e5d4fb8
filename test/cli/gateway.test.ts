/** The gateway as a process of its own, beside `perdure worker`, and in `perdure dev`; and its keys. */
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { caller, readRest } from '../gateway/gateway-world.js';
import { until } from '../support/world.js';
import {
  app,
  finished,
  jsonLines,
  perdure,
  script,
  sharedDataDir,
  startDev,
  temporaryFolder,
  testFolder,
} from './command.js';
import type { Command, Dev } from './command.js';

async function taken(): Promise<{ port: number; free(): void }> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen({ host: '127.0.0.1', port: 0 }, resolve));
  return { port: (server.address() as AddressInfo).port, free: () => void server.close() };
}

async function createKey(dataDir: string, ...flags: string[]): Promise<string> {
  const { code, stdout, stderr } = await finished(perdure(['keys', 'create', '--data-dir', dataDir, ...flags]));
  expect(code, stderr).toBe(0);
  return stdout.trim();
}

describe('perdure dev', () => {
  const folder = temporaryFolder();
  let dev: Dev;

  beforeAll(async () => {
    dev = await startDev(folder, `${folder}/.perdure`);
  });
  afterAll(() => dev.stop());

  it('serves the gateway without auth, over the worker’s own live channel', async () => {
    const me = caller(dev.http);
    // The server knows of a worker once it has polled.
    await until(async () => (await me.get('/readyz')).status === 200, 'a worker that polls');
    expect((await me.get('/v1/agents')).body).toMatchObject({ agents: [{ agent_id: 'demo.assistant' }] });
    expect((await me.get('/v1/model-profiles')).body).toMatchObject({
      model_profiles: [
        { id: 'scripted', is_default: true },
        { id: 'openai', is_default: false },
      ],
    });
    const streamed = await me.post('/v1/runs?stream=true&trailer=false', {
      agent_id: 'demo.assistant',
      input: 'Hello there',
    });
    const types = jsonLines(streamed.text).map((event) => event['type']);
    expect(types).toContain('text_chunk');
    expect(types.at(-1)).toBe('run_completed');
    // The deltas came through memory: none went into the run as a signal.
    const connection = await Connection.connect({ address: dev.address });
    const runId = decodeURIComponent(streamed.headers.get('location')?.split('/').at(-1) ?? '');
    const { events } = await new Client({ connection }).workflow.getHandle(runId).fetchHistory();
    await connection.close();
    expect(events?.length).toBeGreaterThan(5);
    expect(events?.filter((event) => event.workflowExecutionSignaledEventAttributes != null)).toEqual([]);
  });

  it('names the HTTP port that is taken, and the next one that is free', async () => {
    const { port, free } = await taken();
    const args = ['dev', '--temporal-port', '0', '--ui-port', '0', '--http-port', String(port)];
    const { code, stderr } = await finished(perdure(args, { cwd: testFolder() }));
    free();
    expect(code).toBe(1);
    expect(stderr).toMatch(new RegExp(`error: port ${port} is taken; \\d+ is free: try --http-port \\d+\n$`));
  });

  it('asks for keys where the environment says so', async () => {
    const own = testFolder();
    const key = await createKey(`${own}/data`, '--org', 'acme', '--user', 'ann');
    const ports = ['--temporal-port', '0', '--ui-port', '0', '--http-port', '0'];
    const command = perdure(['dev', ...ports, '--data-dir', `${own}/data`], {
      cwd: own,
      env: { PERDURE_API_KEYS: 'on' },
    });
    const url = await command.printed(/HTTP +(http:\S+)\n/);
    expect((await caller(url).get('/v1/agents')).status).toBe(401);
    expect((await caller(url, key).get('/v1/agents')).status).toBe(200);
    command.signal('SIGINT');
    expect(await command.exited).toBe(0);
  });

  it('keeps stored agents in its data folder, and launches them after a restart', async () => {
    const own = testFolder();
    const first = await startDev(own, join(own, 'data'));
    const contents = {
      name: 'welcome',
      request_template: { messages: ['Hello {{who}}'] },
      variables: [{ name: 'who' }],
    };
    const stored = await caller(first.http).post('/v1/ai/agents', contents);
    expect(stored.status, stored.text).toBe(200);
    first.command.signal('SIGTERM');
    expect(await first.command.exited).toBe(0);
    expect(existsSync(join(own, 'data', 'perdure.db'))).toBe(true);
    const second = await startDev(own, join(own, 'data'));
    const me = caller(second.http);
    const { data: agent } = (await me.get('/v1/ai/agents/name/welcome')).body as { data: { agent_id: string } };
    const launched = await me.post(`/v1/ai/agents/${agent.agent_id}/launch`, { values: { who: 'there' } });
    expect(launched.body['data'], launched.text).toMatchObject({ created_from_agent_id: agent.agent_id });
    const { thread_id } = launched.body['data'] as { thread_id: string };
    const answered = async () => (await me.get(`/v1/ai/threads/${thread_id}`)).text.includes('\\"words\\":2');
    await until(answered, 'the demo to have counted the words');
    await second.stop();
  });

  it('ends open streams when it stops', async () => {
    const own = testFolder();
    const other = await startDev(app, `${own}/data`);
    const input = script({ text: 'and so on', hang: true });
    const response = await fetch(`${other.http}/v1/runs?stream=true`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ agent_id: 'test.script', input }),
    });
    const reader = response.body!.getReader();
    await reader.read();
    await other.keep();
    other.command.signal('SIGINT');
    expect(await readRest(reader)).not.toContain('run_completed');
    // The worker would still wait for the model that hangs.
    other.command.signal('SIGINT');
    expect(await other.command.exited).toBe(130);
  });
});

describe('perdure gateway', () => {
  const queue = `gateway-${randomUUID()}`;
  const folder = sharedDataDir();
  const flags = () => ['--address', inject('temporalAddress'), '--task-queue', queue, '--data-dir', folder];
  let worker: Command;
  let gateway: Command;
  let url = '';
  let key = '';

  beforeAll(async () => {
    key = await createKey(folder, '--org', 'acme', '--user', 'ann', '--profiles', 'agent_debug,user_chat');
    // The keys in the data folder are found without being named.
    gateway = perdure(['gateway', '--http-port', '0', ...flags()]);
    url = await gateway.printed(/gateway at (http:\S+:\d+),/);
  });
  afterAll(async () => {
    worker.signal('SIGINT');
    gateway.signal('SIGINT');
    await Promise.all([worker.exited, gateway.exited]);
  });

  it('is not ready before a worker is there, is then, and streams from the other process', async () => {
    const me = caller(url, key);
    expect((await me.get('/readyz')).status).toBe(503);
    expect((await me.get('/healthz')).status).toBe(200);
    worker = perdure(['worker', ...flags()]);
    await until(async () => (await me.get('/readyz')).status === 200, 'a worker to poll');
    const input = script({ text: 'One two three four five six seven.', delay_ms: 100 });
    const streamed = await me.post('/v1/runs?stream=true', { agent_id: 'test.script', input });
    const types = jsonLines(streamed.text).map((event) => event['type']);
    expect(types).toContain('text_chunk');
    expect(types).toContain('run_completed');
  });

  it('writes its log as lines of JSON on stdout, without the key', async () => {
    await caller(url, key).get(`/v1/agents?api_key=${key}`);
    await until(() => gateway.stdout().includes('"/v1/agents"'), 'the line in the log');
    expect(jsonLines(gateway.stdout()).at(-1)).toMatchObject({ route: '/v1/agents', status: 400, org_id: 'acme' });
    expect(gateway.stdout() + gateway.stderr()).not.toContain(key.slice(21));
  });

  it('lets a key in that is made while it runs, and out when it is revoked', async () => {
    const other = await createKey(folder, '--org', 'globex', '--user', 'gus', '--role', 'admin', '--scopes', 'metrics');
    const id = other.slice(8, 20);
    expect((await caller(url, other).get('/metrics')).status).toBe(200);
    const listed = await finished(perdure(['keys', 'list', '--data-dir', folder]));
    expect(listed.stdout).toMatch(new RegExp(`^${id} {2}\\S+ {2}globex {2}gus {2}admin {2}user_chat {2}metrics$`, 'm'));
    expect(listed.stdout).not.toContain(other.slice(21));
    expect((await finished(perdure(['keys', 'revoke', id, '--data-dir', folder]))).code).toBe(0);
    expect((await caller(url, other).get('/metrics')).status).toBe(401);
    const again = await finished(perdure(['keys', 'revoke', id, '--data-dir', folder]));
    expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining(`There is no key ${id}`) });
    for (const name of ['perdure.db', 'perdure.db-wal']) {
      expect(readFileSync(join(folder, name), 'latin1')).not.toContain(other.slice(21));
    }
  });

  it('names the port that is taken', async () => {
    const { port, free } = await taken();
    const { code, stderr } = await finished(perdure(['gateway', '--http-port', String(port), ...flags()]));
    free();
    expect(code).toBe(1);
    expect(stderr).toMatch(/is taken; \d+ is free: try --http-port/);
  });

  it.each([
    ['without auth', [], {}, /does not start without auth, and there are no API keys in .*perdure\.db.*--api-keys/s],
    ['with keys that are neither on nor off', [], { PERDURE_API_KEYS: 'maybe' }, /PERDURE_API_KEYS is "maybe"/],
    ['on a database that is none', [], { PERDURE_DATABASE_URL: 'mysql://x' }, /no address of a Postgres database/],
    [
      'with half of what tokens need',
      ['--jwks-url', 'https://x.example/keys'],
      {},
      /--jwt-issuer and --jwt-audience missing/,
    ],
    [
      'with a key set over plain http',
      [],
      { PERDURE_JWKS_URL: 'http://x.example', PERDURE_JWT_ISSUER: 'i', PERDURE_JWT_AUDIENCE: 'a' },
      /no https URL/,
    ],
    ['with an origin that is none', ['--cors-origins', 'https://app.example/path'], {}, /is no origin/],
    ['with a limit that is none', [], { PERDURE_MAX_BODY_BYTES: 'much' }, /PERDURE_MAX_BODY_BYTES is "much"/],
  ])('does not start %s', async (_what, args, env, message) => {
    const where = ['--address', inject('temporalAddress'), '--data-dir', testFolder(), '--http-port', '0'];
    const { code, stderr } = await finished(perdure(['gateway', ...where, ...args], { env }));
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
  });

  it('does not start without a configuration, nor without a server', async () => {
    const bare = await finished(perdure(['gateway'], { cwd: testFolder() }));
    expect(bare).toMatchObject({ code: 2, stderr: expect.stringContaining('give --config') });
    const gone = await finished(perdure(['gateway', '--address', '127.0.0.1:1', '--data-dir', folder]));
    expect(gone.code).toBe(5);
  });
});

describe('perdure keys', () => {
  it.each([
    [['--org', "a'b", '--user', 'ann'], '--org'],
    [['--org', 'acme', '--user', 'an n'], '--user'],
    [['--org', 'acme', '--user', 'ann', '--role', 'root'], '--role'],
    [['--org', 'acme', '--user', 'ann', '--profiles', 'user_chat,all'], '--profiles'],
  ])('refuses %j', async (args, flag) => {
    const { code, stdout, stderr } = await finished(perdure(['keys', 'create', '--data-dir', testFolder(), ...args]));
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(`${flag}: `);
  });
});
