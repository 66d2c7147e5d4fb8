/** A Temporal server and a worker that live as long as the command. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AroundTool } from '../activities/call-tool.js';
import type { ReportThrown } from '../activities/thrown.js';
import { SEARCH_ATTRIBUTES } from '../contract/names.js';
import type { LiveChannel } from '../live/channel.js';
import type { Registry } from '../kit/registry.js';
import type { StorageSettings } from '../store/open-storage.js';
import { startWorker } from '../worker/create-worker.js';
import type { Milestone } from '../worker/milestones.js';
import type { RunningWorker, WorkerArchive } from '../worker/create-worker.js';
import { startEmbeddedServer } from '../worker/embedded-server.js';
import type { EmbeddedServer } from '../worker/embedded-server.js';
import type { PortRequest } from '../worker/server/ports.js';
import { CommandError } from './command-error.js';
import { EXIT } from './exit-codes.js';

export interface EmbeddedOptions {
  registry: Registry;
  namespace: string;
  taskQueue?: string;
  port: number;
  uiPort: number | false;
  /** Bound later by the command itself. */
  otherPorts?: readonly PortRequest[];
  /** Without it the server forgets all when it stops. */
  dataDir?: string;
  storage: StorageSettings;
  /** Of the gateway, for the UI. */
  codecEndpoint?: string | undefined;
  report: (line: string) => void;
  /** Where others than this process are to hear as well. */
  channel?: LiveChannel;
  onThrown: ReportThrown;
  onMilestone?: (milestone: Milestone) => void;
  aroundTool: AroundTool;
  /** Where runs go that have ended. */
  archive?: WorkerArchive;
}

export interface Embedded {
  server: EmbeddedServer;
  worker: RunningWorker;
  /** Rejects when the server or the worker ends by itself. */
  broken: Promise<never>;
  /** Drains the worker, then stops the server. */
  stop(): Promise<void>;
}

export async function startEmbedded(options: EmbeddedOptions): Promise<Embedded> {
  const { registry, namespace, port, uiPort, report } = options;
  const dataDir = options.dataDir ?? temporaryFolder();
  const searchAttributes = Object.fromEntries(SEARCH_ATTRIBUTES.map((name) => [name, 'Keyword' as const]));
  const server = await startEmbeddedServer({
    port,
    uiPort,
    namespace,
    searchAttributes,
    codecEndpoint: options.codecEndpoint,
    report,
    otherPorts: options.otherPorts ?? [],
    ...(options.dataDir === undefined ? {} : { dataDir }),
  }).catch((error: unknown) => {
    // What it says of ports, folders and binaries is made to be read; anything but a plain Error is a mistake of ours.
    throw error instanceof Error && error.name === 'Error'
      ? new CommandError(error.message, EXIT.failed, error)
      : error;
  });
  const connection = { address: server.address };
  const { taskQueue, channel, onMilestone, archive } = options;
  let worker: RunningWorker;
  try {
    worker = await startWorker({
      connection,
      namespace,
      dataDir,
      storage: options.storage,
      registry,
      report,
      onThrown: options.onThrown,
      aroundTool: options.aroundTool,
      ...(onMilestone === undefined ? {} : { onMilestone }),
      ...(archive === undefined ? {} : { archive }),
      ...(taskQueue === undefined ? {} : { taskQueue }),
      ...(channel === undefined ? {} : { channel }),
    });
  } catch (error) {
    await server.stop();
    throw error;
  }
  let stopping = false;
  const broken = new Promise<never>((_, reject) => {
    void server.exited.then(({ code, signal }) => {
      if (!stopping) reject(serverDied(server, signal === null ? `exit code ${code}` : `signal ${signal}`));
    });
    workerEnded(worker).catch((error: unknown) => {
      if (!stopping) reject(error);
    });
  });
  broken.catch(() => {});
  return {
    server,
    worker,
    broken,
    async stop() {
      stopping = true;
      await worker.stop();
      await server.stop();
    },
  };
}

/** Rejects when the worker is over, whichever way: it should run until it is stopped. */
export async function workerEnded(worker: RunningWorker): Promise<never> {
  await worker.stopped;
  throw new CommandError('The worker stopped by itself. See what it said above.', EXIT.failed);
}

function serverDied(server: EmbeddedServer, how: string): CommandError {
  const lines = server.lastLines().map((line) => `  ${line}`);
  const said = lines.length === 0 ? ['It had printed nothing.'] : ['The end of what it printed:', ...lines];
  return new CommandError(
    [
      `The Temporal server (process ${server.pid}) ended by itself, with ${how}.`,
      ...said,
      'Start the command again: what the server had acknowledged is in its data folder, if it has one.',
    ].join('\n'),
    EXIT.failed,
  );
}

/** For artefacts and large payloads of a server that forgets. */
function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-run-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
