/**
 * Temporal's test server, whose time can be skipped: a week passes in a moment. It is a Java program, fetched once by
 * Maven into the user's cache.
 */
import { execFile, spawn } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Connection } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import { InternalConnectionOptionsSymbol } from '@temporalio/client/lib/connection.js';
import type { InternalConnectionOptions } from '@temporalio/client/lib/connection.js';
import { keepHistories } from './kept-histories.js';
import type { WorkflowList } from './replay-histories.js';

const VERSION = '1.31.0';
const MAIN = 'io.temporal.testserver.TestServer';
const POM = `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>perdure</groupId><artifactId>time-skipping-server</artifactId><version>1</version>
<dependencies><dependency><groupId>io.temporal</groupId><artifactId>temporal-test-server</artifactId><version>${VERSION}</version></dependency></dependencies>
</project>
`;

export interface TimeSkippingServer {
  address: string;
  /** The server's clock goes forward by so much, and whatever is due by then happens. */
  skip(milliseconds: number): Promise<void>;
  stop(): Promise<void>;
}

export async function startTimeSkippingServer(report: (line: string) => void): Promise<TimeSkippingServer> {
  const lib = await ensureServer(report);
  const port = await freePort();
  const child = spawn('java', ['-cp', join(lib, '*'), MAIN, String(port), '--enable-time-skipping'], {
    stdio: 'ignore',
  });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const address = `127.0.0.1:${port}`;
  const connection = await connect(address, 30_000);
  // Else it skips on its own whenever nothing runs, up to the end of the world.
  await connection.testService?.lockTimeSkipping({});
  return {
    address,
    async skip(milliseconds) {
      const duration = { seconds: Math.floor(milliseconds / 1000) as never, nanos: 0 };
      await connection.testService?.unlockTimeSkippingWithSleep({ duration });
    },
    async stop() {
      await keepHistories(address, undefined, listWorkflows);
      await connection.close();
      child.kill();
      await exited;
    },
  };
}

/** It keeps no index that could be asked. */
async function* listWorkflows({ workflowService, options }: Client): ReturnType<WorkflowList> {
  const { namespace } = options;
  const { executions: open } = await workflowService.listOpenWorkflowExecutions({ namespace });
  const { executions: closed } = await workflowService.listClosedWorkflowExecutions({ namespace });
  for (const { execution } of [...open, ...closed])
    yield { workflowId: execution?.workflowId ?? '', runId: execution?.runId ?? '' };
}

async function connect(address: string, timeoutMs: number): Promise<Connection> {
  const options: InternalConnectionOptions = {
    address,
    connectTimeout: 2_000,
    [InternalConnectionOptionsSymbol]: { supportsTestService: true },
  };
  for (const deadline = Date.now() + timeoutMs; ;) {
    try {
      return await Connection.connect(options);
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
  }
}

/** The folder with its jars. */
async function ensureServer(report: (line: string) => void): Promise<string> {
  const home = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache');
  const folder = join(home, 'perdure', 'temporal-test-server', VERSION);
  const lib = join(folder, 'lib');
  if ((await readdir(lib).catch(() => [])).some((name) => name.startsWith('temporal-test-server'))) return lib;
  report(`fetching Temporal's test server ${VERSION} with Maven into ${lib}: some 30 MB, once`);
  await mkdir(folder, { recursive: true });
  // Next to its place, so that a fetch that is cut short leaves nothing that looks whole.
  const staging = await mkdtemp(join(folder, 'fetching-'));
  const project = await mkdtemp(join(tmpdir(), 'perdure-pom-'));
  try {
    await writeFile(join(project, 'pom.xml'), POM);
    const args = [
      '-q',
      '-B',
      '-f',
      join(project, 'pom.xml'),
      'dependency:copy-dependencies',
      `-DoutputDirectory=${staging}`,
    ];
    await promisify(execFile)('mvn', args, { timeout: 300_000 });
    await rename(staging, lib).catch(async (error: NodeJS.ErrnoException) => {
      // Another process was quicker.
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
    });
  } finally {
    await rm(staging, { recursive: true, force: true });
    await rm(project, { recursive: true, force: true });
  }
  report('fetched');
  return lib;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}
