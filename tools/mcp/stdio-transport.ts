/**
 * A server as a child process, spoken to over its standard input and output in the SDK's framing. Not the SDK's own
 * transport, which hands part of the worker's environment on, and can only end the process that it started itself: a
 * server behind `npx` or a shell would stay behind.
 *
 * P1  The server's environment is what it was given, and nothing else.
 * P2  It leads a process group; when it ends, for whatever reason, the rest of the group is killed.
 */
import { spawn } from 'node:child_process';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { serializeMessage } from '@modelcontextprotocol/sdk/shared/stdio.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { LogLines } from './log-lines.js';
import { createLineReader } from './read-lines.js';
import { readMessage } from './read-message.js';
import type { Credentials } from './sessions.js';
import { MAX_MESSAGE_BYTES } from './sizes.js';

export interface StdioOptions {
  command: string;
  args?: readonly string[];
  /**
   * All of the server's environment: nothing of the worker's is handed on, also not PATH. A function of for whom the run
   * works gives each a process.
   */
  env?: Credentials;
  cwd?: string;
}

/** How long a server may take to end after its input has ended, and then after SIGTERM. */
const STOP_MS = 1_500;
const hasGroups = process.platform !== 'win32';

export function createStdioTransport(
  options: StdioOptions,
  env: Readonly<Record<string, string>>,
  log: LogLines,
): Transport {
  let child: ChildProcessWithoutNullStreams | undefined;
  let ending: Promise<void> | undefined;
  // The SDK hears notifications a moment later than answers: without a break between them, the progress of a call that
  // came together with its answer would be lost.
  let delivered = Promise.resolve();
  const deliver = (effect: () => void) => void (delivered = delivered.then(effect));

  const transport: Transport = {
    start: () =>
      new Promise((resolve, reject) => {
        const server = spawn(options.command, options.args ?? [], {
          env: { ...env },
          stdio: 'pipe',
          detached: hasGroups,
          windowsHide: true,
          ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
        });
        child = server;
        // In a group of its own it hears nothing of a Ctrl-C in the terminal, nor of an end without a stop.
        const killAtExit = () => kill(server, 'SIGKILL');
        process.once('exit', killAtExit);
        server.once('spawn', resolve);
        server.once('error', (error) => {
          process.off('exit', killAtExit);
          reject(error);
        });
        server.once('exit', () => {
          process.off('exit', killAtExit);
          kill(server, 'SIGKILL');
        });
        server.once('close', () => {
          log.end();
          deliver(() => transport.onclose?.());
        });
        server.stdin.on('error', (error) => transport.onerror?.(error));
        server.stderr.setEncoding('utf8').on('data', (chunk: string) => log.add(chunk));
        server.stdout.on('data', read);
      }),
    send: (message) =>
      new Promise((resolve, reject) => {
        if (child === undefined) return reject(new Error('the server was not started'));
        child.stdin.write(serializeMessage(message), (error) => (error ? reject(error) : resolve()));
      }),
    close: () => (ending ??= child === undefined ? Promise.resolve() : end(child)),
  };

  const readLines = createLineReader(MAX_MESSAGE_BYTES, (line) => {
    try {
      const message = readMessage(line);
      deliver(() => transport.onmessage?.(message));
    } catch (error) {
      // A line that is no message: many servers print there what belongs on their standard error.
      transport.onerror?.(error as Error);
    }
  });

  function read(chunk: Buffer): void {
    try {
      readLines(chunk);
    } catch (error) {
      transport.onerror?.(error as Error);
      void transport.close();
    }
  }
  return transport;
}

async function end(server: ChildProcessWithoutNullStreams): Promise<void> {
  if (server.pid === undefined || hasEnded(server)) return;
  const ended = new Promise<void>((resolve) => server.once('exit', () => resolve()));
  const within = (ms: number) => {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)));
    return Promise.race([ended, late]).finally(() => clearTimeout(timer));
  };
  server.stdin.end();
  await within(STOP_MS);
  if (!hasEnded(server)) {
    kill(server, 'SIGTERM');
    await within(STOP_MS);
  }
  if (!hasEnded(server)) {
    kill(server, 'SIGKILL');
    await ended;
  }
}

function hasEnded(server: ChildProcessWithoutNullStreams): boolean {
  return server.exitCode !== null || server.signalCode !== null;
}

function kill(server: ChildProcessWithoutNullStreams, signal: NodeJS.Signals): void {
  if (server.pid === undefined) return;
  try {
    if (hasGroups) process.kill(-server.pid, signal);
    else server.kill(signal);
  } catch {
    // Nobody is left in the group.
  }
}
