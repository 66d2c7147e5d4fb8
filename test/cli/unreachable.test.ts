/** A server that is not there, not the right one, or gone in the middle: people read what happened, and no gRPC. */
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer as createHttp } from 'node:http';
import { createSecureServer, createServer as createHttp2 } from 'node:http2';
import { createServer } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { startOwnServer } from '../support/kept-histories.js';
import type { OwnServer } from '../support/kept-histories.js';
import { finished, perdure, script } from './command.js';
import type { Command } from './command.js';
import { sitDownAt } from './pseudo-terminal.js';

/** What a gRPC client or its native twin says to programs. */
const RAW = /\d+ [A-Z]{2,}_?[A-Z]*:|DEADLINE|UNAVAILABLE|Deadline exceeded|before the deadline|gRPC|tonic|Failed to/;
const hasOpenssl = spawnSync('openssl', ['version']).status === 0;

describe('an address', { timeout: 120_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-tls-'));
  const servers: Server[] = [];
  const listening = async (server: Server) => {
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `127.0.0.1:${(server.address() as AddressInfo).port}`;
  };
  afterAll(() => {
    for (const server of servers) server.close();
    rmSync(folder, { recursive: true });
  });
  const inspect = (address: string, env: Record<string, string> = {}, ...flags: string[]) =>
    finished(perdure([...flags, 'inspect', 'any', '--address', address], { env }));

  it('where no Temporal server is reached says why', async () => {
    const silent = await listening(createServer());
    const closing = await listening(createServer((socket) => socket.destroy()));
    const http = await listening(createHttp((_request, response) => response.end('hello')));
    const other = createHttp2((_request, response) => response.writeHead(404).end());
    const cases: [string, Promise<{ code: number; stderr: string }>][] = [
      ['nothing listens there', inspect('127.0.0.1:1')],
      ['the host "nobody.invalid" is not known', inspect('nobody.invalid:7233')],
      ['what listens there is no Temporal server', inspect(silent)],
      ['what listens there is no Temporal server', inspect(closing)],
      ['what listens there is no Temporal server', inspect(http)],
      ['what answers there is no Temporal server', inspect(await listening(other))],
      ['what listens there does not speak TLS', inspect(inject('temporalAddress'), { TEMPORAL_TLS: 'true' })],
    ];
    for (const [why, answer] of cases) {
      const { code, stderr } = await answer;
      expect({ code, stderr }).toEqual({ code: 5, stderr: expect.stringContaining(why) });
      expect(stderr).toContain('(from --address)');
      expect(stderr).not.toMatch(RAW);
      expect(stderr).not.toMatch(/^ {4}at /m);
    }
  });

  it('that is none is called that', async () => {
    const { code, stderr } = await inspect('http://127.0.0.1:7233');
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('is no address of a server') });
  });

  it('shows what lies behind with --debug', async () => {
    const { code, stderr } = await inspect('127.0.0.1:1', {}, '--debug');
    expect({ code, stderr }).toEqual({ code: 5, stderr: expect.stringContaining('caused by: ') });
    expect(stderr).toMatch(/^ {4}at /m);
  });

  it.skipIf(!hasOpenssl)('of a server with TLS says that, or whom it does not trust', async () => {
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
    const made = 'req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost'.split(' ');
    await promisify(execFile)('openssl', [...made, '-keyout', key, '-out', cert]);
    const secure = createSecureServer({ key: readFileSync(key), cert: readFileSync(cert) });
    for (const event of ['sessionError', 'tlsClientError']) secure.on(event, () => {});
    const address = await listening(secure);
    const plain = await inspect(address);
    expect(plain).toMatchObject({ code: 5, stderr: expect.stringContaining('speaks TLS, and we did not') });
    const untrusted = await inspect(address, { TEMPORAL_TLS: 'true' });
    expect(untrusted).toMatchObject({ code: 5, stderr: expect.stringContaining('its certificate is not trusted') });
    expect(plain.stderr + untrusted.stderr).not.toMatch(RAW);
  });
});

describe('a server that goes in the middle', { timeout: 180_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-gone-'));
  let server: OwnServer;
  let worker: Command;
  let flags: string[];
  const startServer = (port: number) =>
    startOwnServer({ dataDir: join(folder, 'server'), port, payloads: join(folder, 'data', 'payloads') });
  beforeAll(async () => {
    server = await startServer(0);
    flags = ['--address', server.address, '--data-dir', join(folder, 'data')];
    worker = perdure(['worker', ...flags]);
    await worker.printed('worker for test.script');
  });
  afterAll(async () => {
    worker.signal('SIGTERM');
    await worker.exited;
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('is waited for, in words, by run, chat, tree and the worker; they go on when it is back', async () => {
    // Worker and command are apart, and have no Redis: a text comes when it is whole.
    const begin = { text: 'I begin', tool_calls: [{ tool: 'test.work.wait', args: { ms: 10 } }] };
    const hang = script(begin, { text: 'and', hang: true });
    const run = perdure(['run', 'test.script', hang, '--run-id', 'gone-1', ...flags]);
    const chat = perdure(['chat', 'test.script', ...flags], { stdin: `${hang}\n` });
    await Promise.all([run.printed('begin'), chat.printed(/I begin/)]);
    const tree = perdure(['tree', 'gone-1', '--follow', ...flags]);
    const seat = sitDownAt(['tree', 'gone-1', ...flags]);
    await Promise.all([tree.printed('gone-1'), seat.shows('Ctrl-C stops watching')]);

    process.kill(server.pid, 'SIGKILL');
    await server.exited;
    const silent = 'the Temporal server does not answer: ';
    await Promise.all([run, chat, tree, worker].map((each) => each.printed(silent)));
    await seat.shows(silent);
    const asked = await finished(perdure(['inspect', 'gone-1', ...flags]));
    expect(asked).toMatchObject({ code: 5, stderr: expect.stringContaining('nothing listens there') });

    server = await startServer(Number(server.address.split(':')[1]));
    await worker.printed('the Temporal server answers again');
    await Promise.all([run, chat, tree].map((each) => each.printed('the obstacle is gone')));
    run.signal('SIGINT');
    chat.signal('SIGINT');
    expect(await run.exited).toBe(3);
    expect(await chat.exited).toBe(3);
    expect(await tree.exited).toBe(0);
    expect(await seat.exited).toBe(0);
    for (const { stdout, stderr } of [run, chat, tree, worker]) expect(stdout() + stderr()).not.toMatch(RAW);
    expect(seat.text()).not.toMatch(RAW);
    expect(run.stderr().match(/does not answer/g)).toHaveLength(1);
  });
});
