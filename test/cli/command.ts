/** The compiled command as a child process, as a person calls it. */
import { spawn } from 'node:child_process';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject, onTestFinished } from 'vitest';
import { dataDirFor, findConfig } from '../../cli/config-file.js';
import { noteUp } from '../../cli/up-here.js';
import { keepHistories } from '../support/kept-histories.js';

const root = join(import.meta.dirname, '../..');
export const app = join(import.meta.dirname, 'fixtures/app');

export interface Command {
  pid: number;
  stdout(): string;
  stderr(): string;
  /** Resolves when the text is in what was printed, rejects when the command ended without it. */
  printed(text: string | RegExp): Promise<string>;
  signal(name: NodeJS.Signals): void;
  /** As `| head` does. */
  closeOutput(): void;
  exited: Promise<number>;
}

export interface CommandOptions {
  cwd?: string;
  env?: Record<string, string>;
  stdin?: string;
}

export function perdure(args: string[], { cwd = app, env = {}, stdin }: CommandOptions = {}): Command {
  // What the machine says of Temporal servers is not meant for these tests.
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith('TEMPORAL_'));
  const child = spawn(process.execPath, [join(root, 'dist/cli/perdure.js'), ...args], {
    cwd,
    env: { ...Object.fromEntries(own), ...env },
  });
  return watchCommand(child, stdin);
}

export function watchCommand(child: ChildProcessWithoutNullStreams, stdin = ''): Command {
  child.stdin.end(stdin);
  let [stdout, stderr] = ['', ''];
  let ended = false;
  const watchers = new Set<() => void>();
  const notify = () => watchers.forEach((watcher) => watcher());
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    notify();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
    notify();
  });
  const exited = new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      ended = true;
      notify();
      resolve(code ?? -1);
    });
  });
  return {
    pid: child.pid ?? 0,
    stdout: () => stdout,
    stderr: () => stderr,
    exited,
    signal: (name) => void child.kill(name),
    closeOutput: () => void child.stdout.destroy(),
    printed: (text) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const all = stdout + stderr;
          const found = typeof text === 'string' ? (all.includes(text) ? text : undefined) : text.exec(all)?.at(-1);
          if (found === undefined && !ended) return;
          watchers.delete(look);
          if (found !== undefined) resolve(found);
          else reject(new Error(`the command ended without printing ${String(text)}; it printed:\n${all}`));
        };
        watchers.add(look);
        look();
      }),
  };
}

export interface Finished {
  code: number;
  stdout: string;
  stderr: string;
}

export async function finished(command: Command): Promise<Finished> {
  const code = await command.exited;
  return { code, stdout: command.stdout(), stderr: command.stderr() };
}

export interface Dev {
  command: Command;
  address: string;
  http: string;
  dataDir: string;
  /** The flags with which other commands find it. */
  flags: string[];
  /** What it has run is replayed at the end of all tests: for a test that stops it in its own way, before it does. */
  keep(): Promise<void>;
  stop(): Promise<void>;
}

/** `perdure dev` on free ports, with a data folder of its own. */
export async function startDev(
  cwd: string,
  dataDir = temporaryFolder(),
  more: string[] = [],
  env: Record<string, string> = {},
): Promise<Dev> {
  const ports = ['--temporal-port', '0', '--ui-port', '0', '--http-port', '0'];
  const command = perdure(['dev', ...ports, '--data-dir', dataDir, ...more], { cwd, env });
  const address = await command.printed(/server +(\S+:\d+),/);
  const http = await command.printed(/HTTP +(http:\/\/127\.0\.0\.1:\d+), without auth/);
  const keep = () => keepHistories(address, join(dataDir, 'payloads'));
  return {
    command,
    address,
    http,
    dataDir,
    flags: ['--address', address, '--data-dir', dataDir],
    keep,
    async stop() {
      await keep();
      command.signal('SIGTERM');
      await command.exited;
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

export function temporaryFolder(): string {
  return mkdtempSync(join(tmpdir(), 'perdure-cli-'));
}

/** For commands on the server that all tests share: it is there until the histories on it were replayed. */
export function sharedDataDir(): string {
  return mkdtempSync(join(inject('dataRoot'), 'cli-'));
}

/** Removed when the test is over. */
export function testFolder(): string {
  const folder = temporaryFolder();
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/**
 * Commands in this folder bring a server of their own, whatever listens in the usual place: the one of their folder is
 * noted here, and is gone. One folder at a time.
 */
export function withoutServer(cwd: string, dataDir = dataDirFor(cwd, findConfig(cwd), undefined)): string {
  noteUp({ agents: [], folder: cwd, data_dir: dataDir, address: '127.0.0.1:1' });
  return cwd;
}

export function script(...turns: object[]): string {
  return JSON.stringify({ turns });
}

export function jsonLines(text: string): Record<string, unknown>[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}
