/** Runs of an agent with an MCP server's tools, on the real Temporal server, over both ways. */
import { connect, createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { DurableEvent } from '../../../contract/events.js';
import { READ_OUTPUT_TOOL } from '../../../contract/names.js';
import { defineAgent } from '../../../kit/index.js';
import type { ConfigOptions } from '../../../kit/index.js';
import { scripted, scriptFromInput } from '../../../providers/index.js';
import { mcpServer } from '../../../tools/index.js';
import type { McpServerOptions } from '../../../tools/index.js';
import { connectClient } from '../../../worker/create-worker.js';
import { script } from '../../support/test-agents.js';
import { startWorkerProcess } from '../../support/worker-process.js';
import { createWorld, durable, collect, ofType, until } from '../../support/world.js';
import type { World } from '../../support/world.js';
import { startServer, WAYS } from './start-server.js';
import type { TestServer } from './start-server.js';

const TIMEOUT_MS = 120_000;
const tool = (name: string, args: unknown = {}) => ({ tool: `mcp.fixture.${name}`, args });

function configOf(server: TestServer, options: McpServerOptions = {}): ConfigOptions {
  const tools = [mcpServer(server.server, options)];
  const instructions = 'Follow the script.';
  return {
    models: { script: { provider: scripted(scriptFromInput), model: 'scripted-1' } },
    agents: [
      defineAgent({ agent_id: 'test.mcp', instructions, tools }),
      defineAgent({
        agent_id: 'test.careful',
        instructions,
        tools,
        policy: { deny: ['mcp.fixture.die'], approve: ['mcp.fixture.echo'] },
      }),
    ],
  };
}

const results = (log: readonly DurableEvent[]) =>
  ofType(log, 'tool_result').map((event) => (event.status === 'error' ? event.failure.kind : event.content));

/** Reads on until someone is asked, and says yes. */
async function approve({ client }: Pick<World, 'client'>, runId: string): Promise<void> {
  for await (const event of client.runs.stream(runId)) {
    if (event.type !== 'await_approval') continue;
    const { await_id, digest } = event;
    return client.runs.decideApproval(runId, { await_id, decision: 'approve', digest });
  }
}

const paused = async ({ client }: Pick<World, 'client'>, runId: string) => {
  for await (const event of client.runs.stream(runId)) if (event.type === 'await_approval') return;
};

describe.each(WAYS)('a run with tools over %s', { timeout: TIMEOUT_MS }, (way) => {
  let server: TestServer;
  let world: World;
  beforeAll(async () => {
    server = await startServer(way);
    world = await createWorld(configOf(server, { timeout: '5s' }));
  }, TIMEOUT_MS);
  afterAll(async () => {
    await world.end();
    await server.stop();
  });

  it('has the structured content of a result as a value, beside its text', async () => {
    const input = script([{ tool_calls: [tool('structured'), tool('create_issue')] }, { text: 'done' }]);
    const { run_id } = await world.client.runs.start({ agent_id: 'test.mcp', input });
    const log = await world.logOf(run_id);
    const [result] = ofType(log, 'tool_result').filter((event) => event.tool_id === 'mcp.fixture.structured');
    expect(result).toMatchObject({ content: '{"answer":42}', value: { answer: 42 } });
    const names = ofType(log, 'tool_requested').map(({ display_name }) => display_name);
    expect(names).toEqual([undefined, 'Makes an issue']);
  });

  it('is approved by a person, calls, shows progress and pictures, and answers', async () => {
    const input = script([
      {
        expect: { tools: ['mcp.fixture.echo', 'mcp.fixture.create_issue', READ_OUTPUT_TOOL] },
        tool_calls: [tool('echo', { text: 'hello' }), tool('count_up', { steps: 2 }), tool('die')],
      },
      { tool_calls: [tool('gallery')] },
      { text: 'done' },
    ]);
    const { run_id } = await world.client.runs.start({ agent_id: 'test.careful', input });
    await approve(world, run_id);
    const log = await world.logOf(run_id);
    expect(log.at(-1)).toMatchObject({ status: 'success', answer: 'done' });
    const [gallery] = ofType(log, 'tool_result').filter((event) => event.tool_id === 'mcp.fixture.gallery');
    expect(results(log).slice(0, 3).toSorted()).toEqual(['counted to 2', 'denied', 'hello']);
    expect(gallery?.content).toMatchObject([{ type: 'text' }, { type: 'image_url' }, { type: 'text' }]);
    expect(ofType(log, 'tool_progress').map(({ message, fraction }) => [message, fraction])).toEqual([
      ['step 1', 0.5],
      ['step 2', 1],
    ]);
    expect(ofType(log, 'file_generated').map((event) => event.filename)).toEqual(['audio.wav', 'report.pdf']);
  });

  it('reads a large result from the artefact store', async () => {
    const log = await world.run(
      'test.mcp',
      script([{ tool_calls: [tool('big', { bytes: 1_048_576 })] }, { text: 'ok' }]),
    );
    const [result] = ofType(log, 'tool_result');
    expect(result).toMatchObject({ status: 'success', trimmed: true, output_ref: { byte_size: 1_048_576 } });
    expect(String(result?.content).length).toBeLessThan(10_000);
  });

  it('gets one result for every call, whatever the server does', async () => {
    const log = await world.run(
      'test.mcp',
      script([
        { tool_calls: [tool('hang'), tool('fail', { message: 'no' }), tool('echo', { text: 1 }), tool('no_such')] },
        { text: 'ok' },
      ]),
    );
    expect(results(log).toSorted()).toEqual(['internal', 'invalid_call', 'timeout', 'unavailable']);
    expect(log.at(-1)).toMatchObject({ status: 'success' });
  });

  it('that is canceled tells the server, and ends', async () => {
    const before = (await server.log()).length;
    const { run_id } = await world.client.runs.start({
      agent_id: 'test.mcp',
      input: script([{ tool_calls: [tool('wait')] }, { text: 'never' }]),
    });
    const news = async () => (await server.log()).slice(before);
    await until(async () => (await news()).includes('called wait {}'), 'the call');
    await world.client.runs.cancel(run_id);
    const log = await world.logOf(run_id);
    expect(log.at(-1)).toMatchObject({ status: 'canceled' });
    expect(results(log)).toEqual(['canceled']);
    await until(async () => (await news()).some((line) => line.startsWith('canceled')), 'the cancel');
  });
});

describe.each(WAYS)('in the middle of a run over %s', { timeout: TIMEOUT_MS }, (way) => {
  const ends: (() => Promise<void>)[] = [];
  const withServer = async (env?: Record<string, string>) => {
    const server = await startServer(way, env);
    ends.push(() => server.stop());
    return server;
  };
  const inWorld = async (...given: Parameters<typeof createWorld>) => {
    const world = await createWorld(...given);
    ends.unshift(() => world.end());
    return world;
  };
  const begin = async (world: Pick<World, 'client'>, turns: Parameters<typeof script>[0], agent_id = 'test.careful') =>
    (await world.client.runs.start({ agent_id, input: script(turns) })).run_id;
  afterAll(async () => {
    for (const end of ends) await end();
  });

  /** One address for several servers: a connection goes to the first of them that is there. */
  async function behindProxy(servers: readonly TestServer[]): Promise<TestServer> {
    const ports = servers.map(({ server }) => Number('http' in server ? new URL(server.http.url).port : 0));
    const proxy = createServer((socket) => {
      const reach = ([port, ...others]: readonly number[]): void => {
        if (port === undefined) return void socket.destroy();
        const upstream = connect(port, '127.0.0.1', () => socket.pipe(upstream).pipe(socket));
        upstream.once('error', () => (upstream.bytesRead > 0 ? socket.destroy() : reach(others)));
        upstream.once('close', () => upstream.bytesRead > 0 && socket.destroy());
        socket.once('close', () => upstream.destroy());
      };
      socket.on('error', () => {});
      reach(ports);
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    ends.push(() => new Promise((resolve) => proxy.close(() => resolve())));
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/mcp`;
    return { ...(servers[0] as TestServer), server: { name: 'fixture', http: { url } } };
  }

  it('the list changes: a tool with a new name is unavailable, the others are called', async () => {
    const server = await withServer();
    const world = await inWorld(configOf(server));
    const runId = await begin(world, [
      { tool_calls: [tool('echo', { text: 'renamed' })] },
      { tool_calls: [tool('create_issue')] },
      { text: 'done' },
    ]);
    await paused(world, runId);
    await server.changeList();
    await approve(world, runId);
    expect(results(await world.logOf(runId))).toEqual(['unavailable', 'createIssue was called']);
  });

  it('the worker is replaced by another, which makes the call, and nothing is left of the first', async () => {
    const server = await withServer();
    const first = await createWorld(configOf(server), { dataDir: join(server.folder, 'data') });
    const runId = await begin(first, [{ tool_calls: [tool('echo', { text: 'hello' })] }, { text: 'done' }]);
    await paused(first, runId);
    const running = await server.alive();
    expect(running).toHaveLength(1);
    await first.end();
    if (way === 'stdio') expect(await server.alive()).toEqual([]);
    else expect(await server.log()).toContain('session closed');
    const { dataDir, taskQueue } = first.server;
    const second = await inWorld(configOf(server), { dataDir, taskQueue });
    await approve(second, runId);
    const log = await second.logOf(runId);
    expect(results(log)).toEqual(['hello']);
    expect(log.at(-1)).toMatchObject({ status: 'success' });
    if (way === 'stdio') expect(await server.alive()).not.toEqual(running);
  });

  it('the server dies: a call that is safe to repeat is repeated', async () => {
    const server = await withServer();
    // Over stdio it is started anew; over HTTP another one must be there to take over.
    const reached = way === 'stdio' ? server : await behindProxy([server, await withServer()]);
    const world = await inWorld(configOf(reached));
    const marker = join(server.folder, 'marker');
    const runId = await begin(world, [{ tool_calls: [tool('die_once', { marker })] }, { text: 'done' }], 'test.mcp');
    const log = await world.logOf(runId);
    expect(results(log)).toEqual(['alive']);
    expect(ofType(log, 'tool_retry')[0]?.reason).toContain('was lost during the call of mcp.fixture.die_once');
  });

  it('the worker is killed: its server goes with it, and another worker repeats the call', async () => {
    const server = await withServer();
    const connection = { address: inject('temporalAddress') };
    const dataDir = join(server.folder, 'data');
    const options = { connection, namespace: 'default', dataDir, taskQueue: `mcp-${way}-${Date.now()}` };
    const connected = await connectClient(options);
    ends.unshift(() => connected.close());
    const start = async () => {
      const runtime = { heartbeat_timeout: '2s' };
      const worker = await startWorkerProcess({ server: options, runtime, mcp: server.server });
      ends.unshift(async () => {
        worker.kill('SIGKILL');
        await worker.exited;
      });
      return worker;
    };
    const worker = await start();
    const hold = join(server.folder, 'hold');
    const runId = await begin(
      connected,
      [{ tool_calls: [tool('hold', { path: hold })] }, { text: 'done' }],
      'test.mcp',
    );
    const calls = async () => (await server.log()).filter((line) => line.startsWith('called hold')).length;
    await until(async () => (await calls()) === 1, 'the call');
    const [running] = await server.alive();
    worker.kill('SIGKILL');
    await worker.exited;
    if (way === 'stdio') await until(async () => !(await server.alive()).includes(running as number), 'its end');
    await start();
    await until(async () => (await calls()) === 2, 'the second call', 90_000);
    await server.release(hold);
    const log = durable(await collect(connected.client.runs.stream(runId)));
    expect(results(log)).toEqual(['released']);
    expect(log.at(-1)).toMatchObject({ status: 'success' });
  });
});
