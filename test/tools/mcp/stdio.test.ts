/** What is special to a server that is a child process: its environment, its output, its end. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { mcpServer } from '../../../tools/index.js';
import type { McpServerOptions } from '../../../tools/index.js';
import { createLogLines } from '../../../tools/mcp/log-lines.js';
import type { StdioOptions } from '../../../tools/mcp/stdio-transport.js';
import { until } from '../../support/world.js';
import { anyRun, failureOf, openCaller } from './calling.js';
import { isAlive, startServer } from './start-server.js';
import type { TestServer } from './start-server.js';

const servers: TestServer[] = [];
const open = async (env?: Record<string, string>, options?: McpServerOptions) => {
  const server = await startServer('stdio', env);
  servers.push(server);
  return { server, ...(await openCaller(server, options)) };
};
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop();
});

/** Discovers once: all that a server does before it is of use. */
const discover = async (stdio: StdioOptions) => {
  const toolset = mcpServer({ name: 'fixture', stdio }).options.open(() => {});
  try {
    return await toolset.discover(AbortSignal.timeout(60_000), anyRun);
  } finally {
    await toolset.close();
  }
};

describe('a server over stdio', () => {
  it('has the environment that it is given, and nothing of the worker’s', async () => {
    process.env['PERDURE_TEST_SECRET'] = 'of the worker';
    const { call, toolset } = await open({ GIVEN: 'yes' });
    const environment = JSON.parse((await call('environment')) as string) as Record<string, string>;
    delete process.env['PERDURE_TEST_SECRET'];
    // These the system sets itself, whatever it is given.
    const own = Object.keys(environment).filter((name) => !name.startsWith('__'));
    expect(own.toSorted()).toEqual(['GIVEN', 'MCP_CHANGES', 'MCP_LOG']);
    await toolset.close();
  });

  it('has what it prints as errors in the worker’s log, line by line, and other noise does no harm', async () => {
    const { call, reported, toolset } = await open();
    expect(await call('print', { text: 'first\nsecond \u001b[31mred\n' })).toBe('printed');
    await until(() => reported.includes('first') && reported.some((line) => line.startsWith('second')), 'the lines');
    expect(reported.find((line) => line.startsWith('second'))).toBe('second  [31mred');
    expect(reported.some((line) => line.includes('not valid JSON'))).toBe(true);
    await toolset.close();
  });

  it('has no credential of its environment in those lines, whatever the form, nor where it is', async () => {
    const token = 'tk-W8zQ4nX7vB2m';
    const { call, reported, toolset } = await open({ SHOP_TOKEN: token, SHOP_URL: 'redis://shop:Lw9Yd3Kp6Rt@far' });
    const encoded = Buffer.from(`user:${token}`).toString('base64');
    const lines = [`in with ${token}`, `piece ${token.slice(4, 11)}`, `sent ${encoded}`, 'at Lw9Yd3Kp6Rt'];
    await call('print', { text: [...lines, `of ${process.execPath}`, 'end', ''].join('\n') });
    await until(() => reported.includes('end'), 'the lines');
    const printed = reported.filter((line) => /^(in|piece|sent|at|of) /.test(line));
    expect(printed).toEqual(['in with [hidden]', 'piece [hidden]', 'sent [hidden]', 'at [hidden]', 'of node']);
    await toolset.close();
  });

  it('is gone when its toolset is closed', async () => {
    const { server, toolset } = await open();
    expect(await server.alive()).toHaveLength(1);
    await toolset.close();
    expect(await server.alive()).toEqual([]);
  });

  it('is gone also when it ignores the end of its input, and SIGTERM', async () => {
    const { server, toolset } = await open({ MCP_MODE: 'stubborn' });
    await toolset.close();
    expect(await server.log()).toContain('ignored SIGTERM');
    expect(await server.alive()).toEqual([]);
  });

  it('takes along what it has started itself: a shell’s children, and a server behind it', async () => {
    const server = await startServer('stdio');
    servers.push(server);
    if (!('stdio' in server.server)) throw new Error('not over stdio');
    const { command, args = [], ...rest } = server.server.stdio;
    const pidFile = join(server.folder, 'helper');
    const script = `sleep 1000 & echo $! > "$0"; "$@"; exit`;
    const stdio = { ...rest, command: '/bin/sh', args: ['-c', script, pidFile, command, ...args] };
    const { toolset } = await openCaller({ ...server, server: { name: 'fixture', stdio } });
    const helper = Number(await readFile(pidFile, 'utf8'));
    expect(isAlive(helper)).toBe(true);
    await toolset.close();
    expect(await server.alive()).toEqual([]);
    await until(() => !isAlive(helper), 'the end of the helper');
  });

  it('that sends more than there is room for is ended, and the call has failed', async () => {
    const { call, reported, toolset } = await open();
    expect((await failureOf(call('big', { bytes: 20 * 1024 * 1024 }))).kind).toBe('outcome_unknown');
    expect(reported.some((line) => line.includes('a line of more than 16777216 bytes'))).toBe(true);
    await toolset.close();
  });
});

describe('an answer over stdio', () => {
  it('that is none fails its call at once, and no other', async () => {
    const { call, toolset } = await open();
    const signal = AbortSignal.timeout(20_000);
    const [nothing, well] = await Promise.all([
      failureOf(call('nothing', {}, { signal })),
      call('echo', { text: 'a' }),
    ]);
    expect(nothing).toMatchObject({ kind: 'malformed_result', retryable: false });
    expect(well).toBe('a');
    await toolset.close();
  });
});

describe('a server over stdio that does not start', () => {
  it('is named, with the last that it printed', async () => {
    await expect(open({ MCP_MODE: 'close' })).rejects.toMatchObject({
      code: 'toolset_unavailable',
      message: expect.stringMatching(
        /^MCP server "fixture" \(.*\) did not list its tools: it ended before it answered; the last that it printed: no licence\. /,
      ) as string,
    });
  });

  it('is named without the credentials that it printed last', async () => {
    const args = ['-c', 'echo "no licence for $SHOP_TOKEN" >&2'];
    const env = { SHOP_TOKEN: 'tk-W8zQ4nX7vB2m' };
    await expect(discover({ command: '/bin/sh', args, env })).rejects.toMatchObject({
      message: expect.stringContaining('the last that it printed: no licence for [hidden]') as string,
    });
  });

  it('is named when there is no such command, or no such folder', async () => {
    const message = expect.stringMatching(/"fixture" \(.*ENOENT: its command or its cwd is not there/) as string;
    await expect(discover({ command: '/no/such/server' })).rejects.toMatchObject({ message });
    await expect(discover({ command: process.execPath, cwd: '/no/such/folder' })).rejects.toMatchObject({ message });
  });

  it('is named when it talks, but of something else', async () => {
    const garbage = ['-c', 'while read line; do echo "you said $line"; done'];
    const toolset = mcpServer(
      { name: 'fixture', stdio: { command: '/bin/sh', args: garbage } },
      { connect_timeout: 500 },
    );
    const opened = toolset.options.open(() => {});
    await expect(opened.discover(AbortSignal.timeout(60_000), anyRun)).rejects.toThrow(
      /"fixture".*no answer within 500 ms/,
    );
    await opened.close();
  });
});

describe('lines for the log', () => {
  const collect = () => {
    const written: string[] = [];
    return { written, lines: createLogLines((line) => void written.push(line)) };
  };

  it('are whole lines, however they come', () => {
    const { written, lines } = collect();
    for (const chunk of ['a', 'b\nc', '\n\n', 'd']) lines.add(chunk);
    expect(written).toEqual(['ab', 'c']);
    lines.end();
    expect(written).toEqual(['ab', 'c', 'd']);
  });

  it('are cut where they are long, also when the break never comes', () => {
    const { written, lines } = collect();
    for (let n = 0; n < 1_000; n++) lines.add('x'.repeat(1_000));
    lines.add('\nnext\n');
    expect(written).toEqual(['x'.repeat(500), 'next']);
  });

  it('are left out where there are many, and counted', () => {
    const { written, lines } = collect();
    lines.add('again\n'.repeat(1_000));
    lines.end();
    expect(written).toHaveLength(101);
    expect(written.at(-1)).toBe('(900 lines were left out)');
    expect(lines.last()).toHaveLength(5);
  });
});
