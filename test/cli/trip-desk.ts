/** The trip desk on the shared server, on a task queue of its own, for the commands that look at trees and answer. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { inject } from 'vitest';
import { finished, perdure, sharedDataDir } from './command.js';
import type { Command, Finished } from './command.js';

export const folder = join(import.meta.dirname, '../../examples/trip-desk');
export const clientTools = join(folder, 'client-tools.json');

export interface TripDesk {
  /** With which a command finds it. */
  flags: string[];
  /** `perdure <args>` with the flags that find this desk. */
  command(...args: string[]): Command;
  done(...args: string[]): Promise<Finished>;
  /** Starts a run and leaves it: gives its id once it waits for somebody. */
  start(...flags: string[]): Promise<string>;
  stop(): Promise<void>;
}

export async function openTripDesk(): Promise<TripDesk> {
  const dataDir = sharedDataDir();
  const taskQueue = `desk-${randomUUID()}`;
  const flags = ['--address', inject('temporalAddress'), '--task-queue', taskQueue, '--data-dir', dataDir];
  const command = (...args: string[]) => perdure([...args, ...flags], { cwd: folder });
  const worker = command('worker');
  await worker.printed(taskQueue);
  const watching: Command[] = [];
  return {
    flags,
    command,
    done: (...args) => finished(command(...args)),
    async start(...more) {
      const runId = `trip-${randomUUID().slice(0, 8)}`;
      const watcher = command('run', 'trips.desk', 'A few days in Oslo', '--run-id', runId, ...more);
      watching.push(watcher);
      await watcher.printed('waits for');
      return runId;
    },
    async stop() {
      for (const watcher of watching) watcher.signal('SIGHUP');
      worker.signal('SIGTERM');
      await Promise.all([worker.exited, ...watching.map((watcher) => watcher.exited)]);
    },
  };
}
