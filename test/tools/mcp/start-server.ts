/** The MCP server of the tests, over stdio or over HTTP: the same tools, and the same ways to look at it and to end it. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { McpServer } from '../../../tools/index.js';
import { built } from '../../support/built.js';

const MAIN = built('tools/mcp/server-main.js');
const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

export type Way = 'stdio' | 'http';
export const WAYS: readonly Way[] = ['stdio', 'http'];

export interface TestServer {
  /** For `mcpServer`. */
  readonly server: McpServer;
  readonly folder: string;
  /** What it has written down, a line per happening. */
  log(): Promise<string[]>;
  /** Processes that were started and still live. */
  alive(): Promise<number[]>;
  /** From now on its list is another one. */
  changeList(): Promise<void>;
  /** Lets calls of `hold` return. */
  release(path: string): Promise<void>;
  /** Kills what runs; over HTTP it is started again, on the same port. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

export async function startServer(way: Way, env: Record<string, string> = {}): Promise<TestServer> {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-mcp-'));
  const path = join(folder, 'log');
  const changes = join(folder, 'changed');
  const given = { MCP_LOG: path, MCP_CHANGES: changes, ...env };
  const command = process.execPath;
  const args = [MAIN, way];
  const log = async () => (existsSync(path) ? (await readFile(path, 'utf8')).trimEnd().split('\n') : []);
  const alive = async () => {
    const pids = (await log()).flatMap((line) => /^started (\d+)$/.exec(line)?.[1] ?? []).map(Number);
    return pids.filter(isAlive);
  };
  let http: { child: ChildProcess; port: string } | undefined;
  const serve = async (port: string) => {
    const child = spawn(command, [...args, port], { cwd: ROOT, env: given, stdio: ['pipe', 'pipe', 'inherit'] });
    const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
    http = { child, port: line };
  };
  const kill = async () => {
    if (http !== undefined && http.child.exitCode === null && http.child.signalCode === null) {
      http.child.kill('SIGKILL');
      await once(http.child, 'exit');
    }
    for (const pid of await alive()) process.kill(pid, 'SIGKILL');
  };
  if (way === 'http') await serve('0');
  return {
    server:
      http === undefined
        ? { name: 'fixture', stdio: { command, args, cwd: ROOT, env: given } }
        : { name: 'fixture', http: { url: `http://127.0.0.1:${http.port}/mcp` } },
    folder,
    log,
    alive,
    changeList: () => writeFile(changes, ''),
    release: (path) => writeFile(path, ''),
    async restart() {
      await kill();
      if (http !== undefined) await serve(http.port);
    },
    async stop() {
      await kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** One that nobody has waited for still has its id. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
