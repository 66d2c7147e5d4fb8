/**
 * The embedded Temporal server: `temporal server start-dev` as a child process, on 127.0.0.1 only, tuned for short
 * steps and, with a data folder, durable: what it has acknowledged survives its own SIGKILL.
 */
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { Connection } from '@temporalio/client';
import { awaitNamespace } from './server/await-namespace.js';
import { markUntilComplete, prepareFolder } from './server/data-folder.js';
import { processEnvironment } from './server/environment.js';
import { lockFolder, type FolderLock } from './server/folder-lock.js';
import { choosePorts, type PortRequest } from './server/ports.js';
import type { Report } from './server/report.js';
import { serverArguments } from './server/server-arguments.js';
import { launchServer, type ServerExit, type ServerProcess } from './server/server-process.js';
import { setUpNamespace, type SearchAttributes } from './server/set-up-namespace.js';
import { findServerBinary } from './server-binary.js';

const START_TIMEOUT_MS = 60_000;
/** Another process may take a port between our look and the server's bind, its internal random ones included. */
const START_ATTEMPTS = 3;

export interface EmbeddedServerOptions {
  /** Where the database lives. Without it the server is in memory and forgets. */
  dataDir?: string;
  /** 0: any free port. */
  port: number;
  /** 0: any free port; false: no web page. */
  uiPort: number | false;
  /** Of others in this process, which bind them later: checked now, so that no mistake is news after the start. */
  otherPorts?: readonly PortRequest[];
  namespace: string;
  searchAttributes: SearchAttributes;
  /** Of the UI: where its pages have payloads decrypted. */
  codecEndpoint?: string | undefined;
  /** Values of the server's dynamic configuration, beside or in place of ours. */
  dynamicConfig?: Readonly<Record<string, unknown>>;
  report: Report;
  /** Path of the `temporal` binary; found or made when it is not given. */
  binary?: string;
  env?: NodeJS.ProcessEnv;
  startTimeoutMs?: number;
}

export interface EmbeddedServer {
  address: string;
  uiAddress: string | undefined;
  namespace: string;
  pid: number;
  /** SIGTERM, then SIGKILL after a while; resolves when the process is gone and the folder is free. */
  stop(): Promise<void>;
  exited: Promise<ServerExit>;
  /** The end of what the server printed: the reason, if it ended by itself. */
  lastLines(): string[];
}

export async function startEmbeddedServer(options: EmbeddedServerOptions): Promise<EmbeddedServer> {
  const { report, env = processEnvironment() } = options;
  const folder = options.dataDir === undefined ? undefined : resolve(options.dataDir);
  if (folder !== undefined) prepareFolder(folder, report);
  const lock = folder === undefined ? undefined : await lockFolder(folder, report);
  try {
    // Before the binary: a taken port must not be news after a build of four minutes.
    await portsFor(options);
    // Absolute, since the server runs in the data folder.
    const binary = resolve(options.binary ?? (await findServerBinary({ env, report })).path);
    const server = await startWithRetry({ ...options, binary, env }, folder, lock);
    const exited = server.exited.then((exit) => {
      lock?.release();
      return exit;
    });
    const stop = async (): Promise<void> => {
      await server.stop();
      await exited;
    };
    return { ...server, exited, stop };
  } catch (error) {
    lock?.release();
    throw error;
  }
}

type ReadyOptions = EmbeddedServerOptions & { binary: string; env: NodeJS.ProcessEnv };

async function startWithRetry(
  options: ReadyOptions,
  folder: string | undefined,
  lock: FolderLock | undefined,
): Promise<EmbeddedServer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await startOnce(options, folder, lock);
    } catch (error) {
      const collided = error instanceof Error && error.message.includes('address already in use');
      if (!collided || attempt === START_ATTEMPTS) throw error;
      options.report('another process took a port in the meantime: starting again');
    }
  }
}

async function startOnce(
  options: ReadyOptions,
  folder: string | undefined,
  lock: FolderLock | undefined,
): Promise<EmbeddedServer> {
  const { namespace, searchAttributes, codecEndpoint, dynamicConfig, report } = options;
  const { port, uiPort } = await portsFor(options);
  const address = `127.0.0.1:${port}`;
  const uiAddress = uiPort === undefined ? undefined : `http://127.0.0.1:${uiPort}`;
  const markComplete = folder === undefined ? () => undefined : markUntilComplete(folder, report);

  report(`starting a Temporal server on ${address}${folder === undefined ? ', in memory' : `, data in ${folder}`}`);
  const server = launchServer({
    binary: options.binary,
    args: serverArguments({
      port,
      uiPort,
      namespace,
      searchAttributes,
      codecEndpoint,
      dynamicConfig,
      durable: folder !== undefined,
    }),
    cwd: folder ?? tmpdir(),
    env: withoutTemporalSettings(options.env),
  });
  if (server.pid > 0) lock?.setServer(server.pid, address);
  const connection = Connection.lazy({ address });
  try {
    const startTimeoutMs = options.startTimeoutMs ?? START_TIMEOUT_MS;
    await whileRunning(server, startTimeoutMs, async (signal) => {
      await awaitNamespace({ connection, port, namespace, signal });
      await setUpNamespace({ connection, namespace, searchAttributes, report });
    });
  } catch (error) {
    await server.stop();
    throw startError(error, options.binary, address, server);
  } finally {
    await connection.close();
  }
  markComplete();
  return { ...server, address, uiAddress, namespace };
}

async function portsFor({
  port,
  uiPort,
  otherPorts = [],
}: EmbeddedServerOptions): Promise<{ port: number; uiPort: number | undefined }> {
  const ui = uiPort === false ? [] : [{ port: uiPort, flag: '--ui-port' }];
  const requests = [{ port, flag: '--temporal-port' }, ...ui];
  const [chosen = port, chosenUi] = (await choosePorts([...requests, ...otherPorts])).slice(0, requests.length);
  return { port: chosen, uiPort: chosenUi };
}

/** TEMPORAL_* is meant for clients; the CLI would read its own flags from it as well. */
const withoutTemporalSettings = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('TEMPORAL_')));

async function whileRunning(
  server: ServerProcess,
  timeoutMs: number,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(new Error(`it was not ready after ${timeoutMs / 1000} s`)), timeoutMs);
  const ended = server.exited.then(({ code, signal }) => {
    const error = new Error(`it ended with ${signal === null ? `exit code ${code}` : `signal ${signal}`}`);
    over.abort(error);
    throw error;
  });
  try {
    await Promise.race([work(over.signal), ended]);
  } finally {
    clearTimeout(timer);
    ended.catch(() => undefined);
  }
}

function startError(why: unknown, binary: string, address: string, server: ServerProcess): Error {
  const reason = why instanceof Error ? why.message : String(why);
  const printed = server.lastLines();
  const output =
    printed.length === 0
      ? ['It printed nothing.']
      : ['The end of what it printed:', ...printed.map((line) => `  ${line}`)];
  const next = `Check that \`${binary} server start-dev\` works on this machine, or use a server elsewhere with --address.`;
  return new Error(
    [
      `the Temporal server (${binary}, process ${server.pid}) did not start on ${address}: ${reason}.`,
      ...output,
      next,
    ].join('\n'),
    { cause: why },
  );
}
