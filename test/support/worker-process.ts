/** Starts `worker-main.ts` as a process of its own. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { RuntimeOptions } from '../../kit/index.js';
import type { ToolsetOptions } from '../tools/toolset-agents.js';
import type { McpServer } from '../../tools/index.js';
import type { ServerOptions } from '../../worker/create-worker.js';
import { built } from './built.js';

const MAIN = built('support/worker-main.js');
const KEPT_LINES = 30;

export interface WorkerProcessOptions {
  server: ServerOptions;
  runtime?: RuntimeOptions;
  /** The agents of `tree-agents.ts`; with a time budget for each run of theirs. */
  trees?: boolean | { time_budget: string };
  /** How long a pause of theirs is open; 2 s if absent. */
  await_expires_in?: string;
  /** Those of `toolset-agents.ts`, with this. */
  toolsets?: ToolsetOptions;
  /** An agent `test.mcp` with its tools. */
  mcp?: McpServer;
  /** Workflows that it keeps in memory; as the configuration says if absent. */
  cache?: number;
  /** The Redis that carries what it says; without one, nobody but its own process hears it. */
  redis?: string;
  /** An agent with the code interpreter, `test.coder`, which needs a sandbox. */
  code?: boolean;
  /** It copies runs into the archive in its data folder, or in this Postgres database. */
  archive?: true | string;
}

export interface WorkerProcess {
  readonly pid: number;
  /** The last that it printed on stderr. */
  lines(): readonly string[];
  kill(signal: NodeJS.Signals): void;
  /** The last lines that it wrote. */
  said(): string;
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
}

/** Resolves when the worker polls. */
export async function startWorkerProcess(options: WorkerProcessOptions): Promise<WorkerProcess> {
  const child = spawn(process.execPath, [MAIN, JSON.stringify(options)], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const lines: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => {
    lines.push(line);
    if (lines.length > KEPT_LINES) lines.shift();
  });
  const exited = new Promise<Awaited<WorkerProcess['exited']>>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
  const early = exited.then((exit) => {
    throw new Error(`the worker process ended before it was ready: ${JSON.stringify(exit)}\n${lines.join('\n')}`);
  });
  await Promise.race([once(createInterface({ input: child.stdout }), 'line'), early]);
  early.catch(() => undefined);
  return {
    pid: child.pid as number,
    lines: () => lines,
    kill: (signal) => void child.kill(signal),
    said: () => lines.join('\n'),
    exited,
  };
}
