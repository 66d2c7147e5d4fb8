import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Writable } from 'node:stream';

/** A clean stop takes about a second. */
const STOP_GRACE_MS = 10_000;
const LAST_WORDS_MS = 500;
const KEPT_LINES = 30;

/**
 * The shell becomes the server by `exec`, so that the pid is the server's. Before that it
 * - makes every file that the server creates readable by its owner only, without touching our own umask;
 * - leaves a watcher on a pipe that we hold: if we die, by SIGKILL as well, the pipe ends and the server is told to
 *   stop. A line on the pipe means that the server has ended and its pid must not be signalled any more.
 */
const LAUNCH = 'umask 077; (read -r _ <&3 || kill -TERM $$) >/dev/null 2>&1 & exec "$@" 3<&-';

export interface ServerExit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export interface ServerProcess {
  pid: number;
  exited: Promise<ServerExit>;
  /** The end of what it printed, for an error. */
  lastLines(): string[];
  stop(): Promise<void>;
}

export interface Launch {
  binary: string;
  args: string[];
  cwd: string;
  env: NodeJS.ProcessEnv;
}

export function launchServer({ binary, args, cwd, env }: Launch): ServerProcess {
  const posix = process.platform !== 'win32';
  const [command, commandArgs] = posix ? ['/bin/sh', ['-c', LAUNCH, 'sh', binary, ...args]] : [binary, args];
  const child = spawn(command, commandArgs, {
    cwd,
    env,
    // A process group of its own: Ctrl-C reaches every process of the terminal's group at once, and the worker
    // needs the server while it drains.
    detached: posix,
    windowsHide: true,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  });

  const lines: string[] = [];
  const keep = (line: string): void => {
    if (line.trim() === '') return;
    lines.push(line);
    if (lines.length > KEPT_LINES) lines.shift();
  };
  const outputs = [child.stdout, child.stderr].filter((stream) => stream !== null);
  const drained = outputs.map(
    (stream) =>
      new Promise<void>((resolve) =>
        createInterface({ input: stream })
          .on('line', keep)
          .once('close', () => resolve()),
      ),
  );

  const lifeline = child.stdio[3] as Writable | null | undefined;
  lifeline?.on('error', () => undefined);
  const onParentExit = (): void => void child.kill('SIGTERM');
  process.once('exit', onParentExit);

  const exited = new Promise<ServerExit>((resolve) => {
    child.once('error', (error) => {
      keep(error.message);
      // An error after a successful spawn is one of kill(), which the exit event follows.
      if (child.pid === undefined) resolve({ code: null, signal: null });
    });
    child.once('exit', (code, signal) => {
      process.removeListener('exit', onParentExit);
      lifeline?.end('ended\n');
      // Its last words may still be in the pipe, and they are what an error will show.
      const patience = setTimeout(() => resolve({ code, signal }), LAST_WORDS_MS);
      void Promise.all(drained).then(() => {
        clearTimeout(patience);
        resolve({ code, signal });
      });
    });
  });

  return {
    pid: child.pid ?? 0,
    exited,
    lastLines: () => [...lines],
    async stop() {
      child.kill('SIGTERM');
      const killer = setTimeout(() => child.kill('SIGKILL'), STOP_GRACE_MS);
      await exited;
      clearTimeout(killer);
    },
  };
}
