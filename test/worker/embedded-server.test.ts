/**
 * The embedded server, with the true binary: what it promises about its files, its ports, its namespace and its
 * death. Where the binary comes from is told by server-binary.test.ts.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { connect, createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startEmbeddedServer, type EmbeddedServer, type EmbeddedServerOptions } from '../../worker/embedded-server.js';
import { findServerBinary } from '../../worker/server-binary.js';
import { built } from '../support/built.js';

const DAY_SECONDS = 24 * 60 * 60;

let binary: string;
let root: string;
let dataDir: string;
let lines: string[];
let endings: (() => Promise<unknown>)[];

// Minutes, since a machine that has none yet builds it here.
beforeAll(async () => {
  binary = (await findServerBinary({ env: process.env, report: () => undefined })).path;
}, 15 * 60_000);

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'perdure-server-'));
  dataDir = join(root, 'data');
  lines = [];
  endings = [];
});

afterEach(async () => {
  for (const end of endings.reverse()) await end();
  rmSync(root, { recursive: true, force: true });
});

const inMemory = (): EmbeddedServerOptions => ({
  port: 0,
  uiPort: false,
  namespace: 'default',
  searchAttributes: {},
  report: (line) => lines.push(line),
  binary,
});

async function start(options: Partial<EmbeddedServerOptions> = {}): Promise<EmbeddedServer> {
  const server = await startEmbeddedServer({ ...inMemory(), dataDir, ...options });
  endings.push(() => server.stop());
  return server;
}

async function connectTo({ address, namespace }: Pick<EmbeddedServer, 'address' | 'namespace'>): Promise<Client> {
  const connection = await Connection.connect({ address });
  endings.push(() => connection.close());
  return new Client({ connection, namespace });
}

const startRun = (client: Client, workflowId: string) =>
  client.workflow.start('nobodyHandlesThis', { workflowId, taskQueue: 'nobody' });

async function retentionSeconds(client: Client): Promise<number | undefined> {
  const { config } = await client.workflowService.describeNamespace({ namespace: client.options.namespace });
  return config?.workflowExecutionRetentionTtl?.seconds?.toNumber();
}

async function attributesOf(client: Client): Promise<string[]> {
  const { namespace } = client.options;
  const { customAttributes } = await client.connection.operatorService.listSearchAttributes({ namespace });
  return Object.keys(customAttributes).sort();
}

const isRunning = (pid: number): boolean => {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.startsWith('Z') === false;
  } catch {
    return false;
  }
};

async function eventually(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await sleep(20);
}

async function occupyPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  endings.push(() => new Promise((resolve) => server.close(resolve)));
  return (server.address() as AddressInfo).port;
}

describe('a started server', () => {
  test('takes runs at once, in the namespace that was asked for, with its search attributes', async () => {
    const server = await start({
      namespace: 'perdure',
      searchAttributes: { PerdureAgentId: 'Keyword', PerdureTurns: 'Int' },
    });
    const client = await connectTo(server);
    await startRun(client, 'first');
    expect((await client.workflow.getHandle('first').describe()).status.name).toBe('RUNNING');
    expect(await attributesOf(client)).toEqual(['PerdureAgentId', 'PerdureTurns']);
  });

  test('serves the web page where it says', async () => {
    const server = await start({ uiPort: 0 });
    expect((await fetch(`${server.uiAddress}/`)).status).toBe(200);
  });

  test('without a data folder leaves no file and can have a second one beside it', async () => {
    const [one, two] = await Promise.all([startEmbeddedServer(inMemory()), startEmbeddedServer(inMemory())]);
    endings.push(
      () => one.stop(),
      () => two.stop(),
    );
    await startRun(await connectTo(one), 'only-in-one');
    await expect((await connectTo(two)).workflow.getHandle('only-in-one').describe()).rejects.toThrow('not found');
    expect(existsSync(dataDir)).toBe(false);
  });

  test('keeps closed runs for 30 days', async () => {
    expect(await retentionSeconds(await connectTo(await start()))).toBe(30 * DAY_SECONDS);
  });

  test('leaves a longer retention as it is, over a restart', async () => {
    const first = await start();
    const client = await connectTo(first);
    const { config } = await client.workflowService.describeNamespace({ namespace: 'default' });
    const seconds = config?.workflowExecutionRetentionTtl?.seconds?.mul(3);
    await client.workflowService.updateNamespace({
      namespace: 'default',
      config: { workflowExecutionRetentionTtl: { seconds: seconds ?? null } },
    });
    await first.stop();
    expect(await retentionSeconds(await connectTo(await start()))).toBe(90 * DAY_SECONDS);
  });

  test('registers search attributes that a database of an older version does not have', async () => {
    await (await start({ searchAttributes: { PerdureAgentId: 'Keyword' } })).stop();
    const server = await start({ searchAttributes: { PerdureAgentId: 'Keyword', PerdurePhase: 'Keyword' } });
    expect(await attributesOf(await connectTo(server))).toEqual(['PerdureAgentId', 'PerdurePhase']);
  });
});

describe('its files', () => {
  test('are readable by their owner only, in a folder that only the owner may enter', async () => {
    await start();
    const mode = (path: string): string => (statSync(path).mode & 0o777).toString(8);
    expect(mode(dataDir)).toBe('700');
    const files = readdirSync(dataDir);
    expect(files).toEqual(
      expect.arrayContaining(['temporal.db', 'temporal.db-wal', 'temporal.db-shm', 'perdure.lock']),
    );
    expect(files.filter((file) => mode(join(dataDir, file)) !== '600')).toEqual([]);
  });

  test('are in write-ahead mode', async () => {
    await start();
    // https://www.sqlite.org/fileformat.html: bytes 18 and 19 of the header are 2 for WAL, 1 otherwise.
    expect([...readFileSync(join(dataDir, 'temporal.db')).subarray(18, 20)]).toEqual([2, 2]);
  });

  test('are where they should be when the path has characters that mean something in a URI', async () => {
    dataDir = join(root, 'what? 100%41 #1');
    await start();
    expect(existsSync(join(dataDir, 'temporal.db'))).toBe(true);
  });

  test('of a first start that did not finish are set aside, since the server would never start on them', async () => {
    mkdirSync(dataDir);
    writeFileSync(join(dataDir, 'temporal.db'), '');
    writeFileSync(join(dataDir, 'temporal.db.incomplete'), '');
    await startRun(await connectTo(await start()), 'after-all');
    expect(readdirSync(dataDir)).toContain('temporal.db.set-aside');
    expect(readdirSync(dataDir)).not.toContain('temporal.db.incomplete');
    expect(lines.join('\n')).toContain('was left incomplete by a first start that did not finish');
  });
});

describe('a start that cannot be', () => {
  test('names the taken port and the next free one', async () => {
    const port = await occupyPort();
    const taken = (flag: string): RegExp => new RegExp(`^port ${port} is taken; (\\d+) is free: try ${flag} \\1$`);
    await expect(start({ port })).rejects.toThrow(taken('--temporal-port'));
    await expect(start({ uiPort: port })).rejects.toThrow(taken('--ui-port'));
    // The folder is free again after a failed start.
    await start();
  });

  test('shows what the server printed', async () => {
    const tooMany = { A: 'Text', B: 'Text', C: 'Text', D: 'Text' } as const;
    await expect(start({ searchAttributes: tooMany })).rejects.toThrow(
      /did not start on 127\.0\.0\.1:\d+: it ended with exit code 1[^]*cannot have more than 3 search attributes of type Text/,
    );
    await start();
  });

  test('says so when the binary does not exist', async () => {
    await expect(start({ binary: join(root, 'nowhere') })).rejects.toThrow(/nowhere.*did not start[^]*not found/);
  });

  test('gives up, and ends the process, when the server does not get ready in time', async () => {
    const pidFile = join(root, 'pid');
    writeFileSync(join(root, 'mute'), `#!/bin/sh\necho $$ > '${pidFile}'\nexec sleep 600\n`, { mode: 0o755 });
    await expect(start({ binary: join(root, 'mute'), startTimeoutMs: 300 })).rejects.toThrow(
      'it was not ready after 0.3 s',
    );
    expect(isRunning(Number(readFileSync(pidFile, 'utf8')))).toBe(false);
  });
});

describe('one folder has one server', () => {
  test('a second start names the process that has it and the ways out', async () => {
    const first = await start();
    await expect(start()).rejects.toThrow(
      `data folder ${dataDir} is in use: process ${process.pid} runs the Temporal server ${first.pid} on it`,
    );
    await expect(start()).rejects.toThrow(`--address ${first.address}`);
    await startRun(await connectTo(first), 'undisturbed');
    await first.stop();
    await start();
  });

  test('of several starts at once one wins', async () => {
    const starts = await Promise.allSettled([start(), start(), start()]);
    expect(starts.map((result) => result.status).sort()).toEqual(['fulfilled', 'rejected', 'rejected']);
  });

  test('a lock that a dead process left is taken over, also when its pid has been given to another', async () => {
    mkdirSync(dataDir);
    const owner = { pid: process.pid, identity: 'of an earlier process' };
    const lock = { id: 'x', since: new Date(0).toISOString(), owner, server: { ...owner, address: '127.0.0.1:1' } };
    writeFileSync(join(dataDir, 'perdure.lock'), JSON.stringify(lock));
    await (await start()).stop();
    expect(lines.join('\n')).toContain('left behind by process');
    writeFileSync(join(dataDir, 'perdure.lock'), '{"id":');
    await start();
  });
});

describe('its end', () => {
  interface Parent {
    process: ChildProcess & { pid: number };
    server: { pid: number; address: string };
    nextLine: () => Promise<string>;
  }

  async function startInOwnProcess(): Promise<Parent> {
    const script = built('worker/embedded-server-parent.js');
    const child = spawn(process.execPath, [script, dataDir, binary], {
      // A process group of its own, so that the test can press Ctrl-C in it.
      detached: true,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    endings.push(() => {
      const gone = child.exitCode !== null || child.signalCode !== null;
      return gone ? Promise.resolve() : new Promise((resolve) => child.once('exit', resolve).kill('SIGKILL'));
    });
    const printed = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const nextLine = async (): Promise<string> => String((await printed.next()).value);
    const server = JSON.parse(await nextLine()) as Parent['server'];
    return { process: child as Parent['process'], server, nextLine };
  }

  test('comes with the end of its parent, even of one that was killed, and the folder can be used again', async () => {
    const parent = await startInOwnProcess();
    await startRun(await connectTo({ ...parent.server, namespace: 'default' }), 'from-before');
    await new Promise((resolve) => parent.process.once('exit', resolve).kill('SIGKILL'));
    const successor = await start();
    expect(isRunning(parent.server.pid)).toBe(false);
    expect((await (await connectTo(successor)).workflow.getHandle('from-before').describe()).status.name).toBe(
      'RUNNING',
    );
  });

  test('does not come with Ctrl-C in the terminal of its parent', async () => {
    const parent = await startInOwnProcess();
    process.kill(-parent.process.pid, 'SIGINT');
    expect(await parent.nextLine()).toBe('interrupted');
    await startRun(await connectTo({ ...parent.server, namespace: 'default' }), 'while-draining');
    parent.process.kill('SIGKILL');
    await eventually(() => !isRunning(parent.server.pid));
  });

  test('by stop() leaves no process, no listener and no lock', async () => {
    const server = await start();
    await Promise.all([server.stop(), server.stop()]);
    expect(await server.exited).toEqual({ code: 0, signal: null });
    expect(isRunning(server.pid)).toBe(false);
    expect(readdirSync(dataDir)).not.toContain('perdure.lock');
    const listening = await new Promise((resolve) => {
      const [host, port] = server.address.split(':');
      connect({ host: host ?? '', port: Number(port) }, () => resolve(true)).on('error', () => resolve(false));
    });
    expect(listening).toBe(false);
  });
});

test('a server killed under load and started again on its file has every start and signal that it acknowledged', async () => {
  const first = await start();
  const connection = await Connection.connect({ address: first.address });
  const client = new Client({ connection });
  // Short, since the client goes on trying to reach a dead server for more than half a minute.
  const soon = <T>(call: () => Promise<T>): Promise<T> => connection.withDeadline(Date.now() + 2_000, call);
  const acknowledged = new Map<string, number[]>();
  let total = 0;
  let killed = false;

  const load = async (lane: number): Promise<void> => {
    for (let n = 0; !killed; n++) {
      const workflowId = `lane-${lane}-run-${n}`;
      const signals: number[] = [];
      try {
        const handle = await soon(() => startRun(client, workflowId));
        acknowledged.set(workflowId, signals);
        for (let signal = 0; signal < 3; signal++, total++) {
          await soon(() => handle.signal('note', signal));
          signals.push(signal);
        }
      } catch {
        // Not acknowledged, so not promised.
      }
    }
  };
  const lanes = Promise.all(Array.from({ length: 8 }, (_, lane) => load(lane)));
  await eventually(() => total >= 300);
  process.kill(first.pid, 'SIGKILL');
  expect(await first.exited).toEqual({ code: null, signal: 'SIGKILL' });
  killed = true;
  await lanes;
  await connection.close();

  const after = await connectTo(await start());
  const lost: string[] = [];
  for (const [workflowId, signals] of acknowledged) {
    const history = await after.workflow.getHandle(workflowId).fetchHistory();
    const payloads = (history.events ?? []).map(
      (event) => event.workflowExecutionSignaledEventAttributes?.input?.payloads?.[0]?.data,
    );
    const kept = payloads.filter((data) => data).map((data) => Number(new TextDecoder().decode(data ?? undefined)));
    if (signals.some((signal) => !kept.includes(signal))) lost.push(workflowId);
  }
  expect(lost).toEqual([]);
  expect(acknowledged.size).toBeGreaterThan(50);
});
