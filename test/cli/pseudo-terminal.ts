/** The compiled command at a real pseudo terminal, and what a person would see on it. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { app } from './command.js';
import { createFakeTerminal } from './fake-terminal.js';

/** Below the time that a test has, so that it says what was on the screen. */
const PATIENCE_MS = 50_000;

const root = join(import.meta.dirname, '../..');

export interface Seat {
  /** What can be seen and scrolled back to. */
  text(): string;
  /** What can be seen. */
  screen(): string;
  /** Byte for byte as it was sent to the terminal. */
  raw(): string;
  type(text: string): void;
  /** Resolves when what can be seen and scrolled back to matches. */
  shows(what: string | RegExp): Promise<void>;
  exited: Promise<number>;
}

export interface SeatOptions {
  cwd?: string;
  env?: Record<string, string>;
  columns?: number;
  rows?: number;
}

export function sitDownAt(args: string[], options: SeatOptions = {}): Seat {
  const { cwd = app, env = {}, columns = 80, rows = 24 } = options;
  const own = Object.entries(process.env).filter(([name]) => !/^(TEMPORAL_|NO_COLOR$|CI$)/.test(name));
  const command = [process.execPath, join(root, 'dist/cli/perdure.js'), ...args];
  const bridge = join(import.meta.dirname, 'pseudo_terminal.py');
  const child = spawn('python3', [bridge, String(columns), String(rows), ...command], {
    cwd,
    env: { ...Object.fromEntries(own), TERM: 'xterm-256color', ...env },
  });
  const terminal = createFakeTerminal(columns, rows);
  const watchers = new Set<() => void>();
  let raw = '';
  let errors = '';
  let ended = false;
  const notify = () => watchers.forEach((look) => look());
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    raw += text;
    terminal.stream.write(text);
    notify();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  const exited = new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      ended = true;
      notify();
      resolve(code ?? -1);
    });
  });
  // Whoever holds the terminal goes, and the command hears of it as of a window that is closed.
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  return {
    text: terminal.text,
    screen: terminal.screen,
    raw: () => raw,
    type: (text) => void child.stdin.write(text),
    exited,
    shows: (what) =>
      new Promise((resolve, reject) => {
        const fail = (why: string) => {
          done();
          reject(new Error(`${why} ${String(what)}; it showed:\n${terminal.text()}${errors}`));
        };
        const timer = setTimeout(() => fail('the command took too long to show'), PATIENCE_MS);
        const done = () => {
          clearTimeout(timer);
          watchers.delete(look);
        };
        const look = () => {
          const text = terminal.text();
          const isThere = typeof what === 'string' ? text.includes(what) : what.test(text);
          if (!isThere && !ended) return;
          if (!isThere) return fail('the command ended without showing');
          done();
          resolve();
        };
        watchers.add(look);
        look();
      }),
  };
}
