/** `perdure dev`: the built-in demo on a durable server, and how it ends. */
import { execFile } from 'node:child_process';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { readFileSync, rmSync } from 'node:fs';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findServerBinary } from '../../worker/server-binary.js';
import { pageFetch } from '../gateway/page-fetch.js';
import { finished, perdure, startDev, temporaryFolder, testFolder } from './command.js';
import type { Dev } from './command.js';

const run = promisify(execFile);

async function temporal(...args: string[]): Promise<string> {
  const { path } = await findServerBinary({ env: process.env, report: () => {} });
  return (await run(path, args)).stdout;
}

describe('perdure dev', () => {
  // A folder without a configuration, so this is the built-in demo.
  const folder = temporaryFolder();
  let dev: Dev;

  beforeAll(async () => {
    dev = await startDev(folder, `${folder}/.perdure`, ['--cors-origins', 'http://localhost:5173']);
  });

  afterAll(async () => {
    await dev.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('says that it uses the built-in demo, where the Temporal UI is, and what to try next', async () => {
    expect(dev.command.stderr()).toContain(`no perdure.config.ts in ${folder}: using the built-in demo`);
    const ui = await dev.command.printed(/Temporal UI {2}(http:\S+)/);
    expect((await fetch(ui)).status).toBe(200);
    await dev.command.printed(`run demo.assistant "hello" --address ${dev.address}\n`);
  });

  it('runs what the stock Temporal CLI starts with nothing but an agent and an input', async () => {
    const where = ['--address', dev.address, '--workflow-id', 'stock-1'];
    const input = '{"agent_id":"demo.assistant","input":"hello"}';
    const type = ['--type', 'agentRun', '--task-queue', 'perdure'];
    await temporal('workflow', 'start', ...type, '--input', input, ...where);
    const result = JSON.parse(await temporal('workflow', 'result', '-o', 'json', ...where)) as { result: unknown };

    expect(result).toMatchObject({
      status: 'COMPLETED',
      result: { status: 'success', usage: { model_calls: 2, tool_calls: 2 } },
    });
    const { answer } = result.result as { answer: string };
    expect(answer).toContain('scripted model');
    expect(answer).toContain('{"words":1,"characters":5}');
  });

  it('streams the demo to another process', async () => {
    const { code, stdout } = await finished(perdure(['run', 'demo.assistant', 'Hello there', ...dev.flags]));
    expect(code).toBe(0);
    expect(stdout).toContain('tool: demo.clock.read_clock {"time_zone":"UTC"}');
    expect(stdout).toContain('{"words":2,"characters":11}');
  });

  it('lets pages of the origins call that --cors-origins lists, and tells the others so', async () => {
    const listed = await pageFetch('http://localhost:5173')(`${dev.http}/v1/agents`);
    expect(listed.status).toBe(200);
    const other = await pageFetch('http://localhost:3000')(`${dev.http}/v1/agents`);
    expect(await other.json()).toMatchObject({
      error: { code: 'origin_refused', message: expect.stringContaining('"http://localhost:3000"') },
    });
    const { code, stderr } = await finished(perdure(['dev', '--cors-origins', 'localhost'], { cwd: folder }));
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('"localhost" is no origin') });
  });

  it('names the port that is taken, and the next one that is free', async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen({ host: '127.0.0.1', port: 0 }, resolve));
    const { port } = taken.address() as AddressInfo;
    const args = ['dev', '--temporal-port', String(port), '--ui-port', '0', '--http-port', '0'];
    const { code, stderr } = await finished(perdure(args, { cwd: testFolder() }));
    taken.close();

    expect(code).toBe(1);
    expect(stderr).toMatch(new RegExp(`error: port ${port} is taken; \\d+ is free: try --temporal-port \\d+\n$`));
  });

  it('says who holds its data folder', async () => {
    const args = ['dev', '--temporal-port', '0', '--ui-port', '0', '--http-port', '0', '--data-dir', dev.dataDir];
    const { code, stderr } = await finished(perdure(args, { cwd: folder }));
    expect(code).toBe(1);
    expect(stderr).toContain(`data folder ${dev.dataDir} is in use: process ${dev.command.pid}`);
  });

  it('is a worker only where a server is named, and says so', async () => {
    const command = perdure(['dev', '--data-dir', dev.dataDir, '--task-queue', 'elsewhere'], {
      cwd: folder,
      env: { TEMPORAL_ADDRESS: dev.address },
    });
    await command.printed(`worker for demo.assistant on ${dev.address}, namespace default, task queue elsewhere`);
    command.signal('SIGINT');
    const { code, stderr } = await finished(command);
    expect(code).toBe(0);
    expect(stderr).toContain(`TEMPORAL_ADDRESS names the server ${dev.address}: starting no server, only a worker`);
  });

  it('refuses a port together with a server that is named', async () => {
    const { code, stderr } = await finished(perdure(['dev', '--ui-port', '0', ...dev.flags]));
    expect(code).toBe(2);
    expect(stderr).toContain('--ui-port is for a server that this command starts, and --address names one');
  });
});

describe('perdure dev, stopped', () => {
  it('stops at once at the second Ctrl-C, finishes the run after the next start, and drains at the first', async () => {
    const folder = testFolder();
    const first = await startDev(folder, `${folder}/data`);
    const watcher = perdure(['run', 'demo.assistant', 'hello', '--run-id', 'cut-1', ...first.flags]);
    await watcher.printed('tool: demo.clock.read_clock');
    first.command.signal('SIGINT');
    await first.command.printed('stopping: work in progress may finish; Ctrl-C again stops at once');
    first.command.signal('SIGINT');
    expect(await first.command.exited).toBe(130);
    watcher.signal('SIGHUP');
    expect(await finished(watcher)).toMatchObject({ code: 130, stderr: expect.stringContaining('Detached: cut-1') });

    const second = await startDev(folder, `${folder}/data`);
    const of = ['--workflow-id', 'cut-1', '--address', second.address];
    const result = JSON.parse(await temporal('workflow', 'result', '-o', 'json', ...of)) as unknown;
    expect(result).toMatchObject({ status: 'COMPLETED', result: { status: 'success' } });
    await second.keep();
    second.command.signal('SIGINT');
    const { code, stderr } = await finished(second.command);
    expect(code).toBe(0);
    // The line of the run's end may come while it stops.
    expect(stderr).toMatch(/stopping: .*\n(\S+ +ended .*\n)?stopped\n$/);
  });

  it('ends with 1 and the last words of the server when that dies', async () => {
    const folder = testFolder();
    const dev = await startDev(folder, `${folder}/data`);
    const lock = JSON.parse(readFileSync(`${folder}/data/perdure.lock`, 'utf8')) as { server: { pid: number } };
    process.kill(lock.server.pid, 'SIGKILL');
    const { code, stderr } = await finished(dev.command);
    expect(code).toBe(1);
    expect(stderr).toMatch(/The Temporal server \(process \d+\) ended by itself, with signal SIGKILL/);
  });
});
