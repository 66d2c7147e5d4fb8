/**
 * Worker and gateway of docker-compose.yml, apart, as processes with the very commands and environment of the file, on
 * the real server; and the first steps of docs/deploy.md with them. Containers need an engine, which CI does not have.
 */
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { finished, jsonLines, sharedDataDir } from '../cli/command.js';
import type { Command } from '../cli/command.js';
import { caller } from '../gateway/gateway-world.js';
import { until } from '../support/world.js';
import { readServices, root, serviceOf } from './compose-file.js';
import { startHealthCheck, startService } from './container.js';
import type { Machine } from './container.js';
import { readImage } from './dockerfile.js';

const image = readImage();
const services = readServices({ POSTGRES_PASSWORD: 'for the test' });
const [workerService, gatewayService] = [serviceOf(services, 'worker'), serviceOf(services, 'gateway')];
const page = readFileSync(join(root, 'docs/deploy.md'), 'utf8');
const data = sharedDataDir();
let machine: Machine;
let worker: Command;
let gateway: Command;
let url = '';

/** What stands between the marks in the page, as a person would copy it. */
function fromPage(pattern: RegExp): string {
  const found = pattern.exec(page)?.[1];
  if (found === undefined) throw new Error(`docs/deploy.md has nothing like ${String(pattern)}`);
  return found;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen({ port: 0 }, resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** The folder of this machine that a service mounts there. */
function mountedAt(path: string): string {
  const mount = gatewayService.volumes.find((volume) => volume.split(':')[1] === path);
  return join(root, mount?.split(':')[0] ?? 'nothing is mounted there');
}

async function createKey(): Promise<string> {
  const args = fromPage(/^docker compose run --rm --no-deps -T gateway (keys create .*?) > ann\.key$/m).split(' ');
  const { code, stdout, stderr } = await finished(startService(image, gatewayService, machine, args));
  expect(code, stderr).toBe(0);
  return stdout.trim();
}

async function health(): Promise<number> {
  return startHealthCheck(image, gatewayService, machine).exited;
}

beforeAll(async () => {
  const port = await freePort();
  machine = { temporal: inject('temporalAddress'), data, application: mountedAt('/app/application'), app: root, port };
  url = `http://127.0.0.1:${port}`;
  gateway = startService(image, gatewayService, machine);
  // On all addresses: in a container, loopback could not be published.
  await gateway.printed(`gateway at http://0.0.0.0:${port},`);
});
afterAll(async () => {
  for (const command of [worker, gateway]) command?.signal('SIGKILL');
  await Promise.all([worker?.exited, gateway?.exited]);
});

describe('the gateway of docker-compose.yml', () => {
  it('starts without a single key, lets nobody in, and is not healthy before a worker is there', async () => {
    expect((await caller(url).get('/healthz')).status).toBe(200);
    expect((await caller(url).get('/v1/agents')).status).toBe(401);
    expect(await health()).toBe(1);
  });

  it('is healthy once the worker of the file polls', async () => {
    worker = startService(image, workerService, machine);
    await worker.printed(`worker for demo.assistant on ${machine.temporal}, namespace default, task queue perdure`);
    await until(async () => (await health()) === 0, 'the health check to pass');
  });

  it('lets the key in that the page’s command makes, in the volume that only its owner can read', async () => {
    const key = await createKey();
    expect(statSync(join(data, 'perdure.db')).mode & 0o777).toBe(0o600);
    expect((await caller(url, key).get('/v1/agents')).body).toMatchObject({ agents: [{ agent_id: 'demo.assistant' }] });
    expect((await caller(url, `${key.slice(0, -1)}_`).get('/v1/agents')).status).toBe(401);
  });

  // By the block: there is no Redis in it yet, see docs/live.md.
  it('streams the page’s first run to its end, with its text', async () => {
    const me = caller(url, await createKey());
    const body = JSON.parse(fromPage(/^ +-d '(\{.*\})'$/m)) as unknown;
    expect((await caller(url).post('/v1/runs?stream=true', body)).status).toBe(401);
    const streamed = await me.post('/v1/runs?stream=true&trailer=false', body);
    const events = jsonLines(streamed.text);
    expect(events.filter((event) => event['type'] === 'text_chunk')).not.toEqual([]);
    expect(events.at(-1)).toMatchObject({ type: 'run_completed', status: 'success' });
  });

  it('shares the data folder with the worker: it takes up a run whose input is too large for Temporal', async () => {
    const me = caller(url, await createKey());
    const body = { agent_id: 'demo.assistant', input: 'word '.repeat(100_000), run_id: `acme:${randomUUID()}` };
    expect((await me.post('/v1/runs', body)).status).toBe(201);
    expect(existsSync(join(data, 'payloads'))).toBe(true);
    const phase = async () => (await me.get(`/v1/runs/${body.run_id}`)).body['phase'];
    await until(async () => (await phase()) === 'planning', 'the worker to have read the input');
    // The demo would repeat it all, word by word.
    expect((await me.post(`/v1/runs/${body.run_id}/cancel`)).status).toBe(202);
    await until(async () => (await phase()) === 'canceled', 'the run to end');
  });

  it('stops in order at SIGTERM, and so does the worker, both with exit code 0', async () => {
    for (const command of [worker, gateway]) command.signal('SIGTERM');
    for (const command of [worker, gateway]) {
      expect(await finished(command)).toMatchObject({
        code: 0,
        stderr: expect.stringMatching(/stopping: .*\nstopped\n$/),
      });
    }
  });
});
