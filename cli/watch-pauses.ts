/** Which pauses of a run and its descendants are open, read again whenever its stream says that this changed. */
import type { StreamEvent } from '../client/index.js';
import { messageOf } from './command-error.js';
import { readPauses } from './open-pauses.js';
import type { Pause } from './open-pauses.js';
import type { RunCommands } from './run-commands.js';

export interface PauseWatch {
  event(event: StreamEvent): void;
  /** Until what the events so far said is read, or could not be. */
  read(): Promise<void>;
  stop(): void;
}

export interface PauseWatchOptions {
  runs: RunCommands;
  runId: string;
  changed(open: readonly Pause[]): void;
  say(line: string): void;
}

const TELLING: ReadonlySet<StreamEvent['type']> = new Set<StreamEvent['type']>([
  'await_clarification',
  'await_approval',
  'await_external_tools',
  'await_resolved',
  'child_await_changed',
]);

export function watchPauses({ runs, runId, changed, say }: PauseWatchOptions): PauseWatch {
  let reading: Promise<void> | undefined;
  let again = false;
  let stopped = false;

  async function read(): Promise<void> {
    do {
      again = false;
      try {
        const open = await readPauses(runs, await runs.get(runId));
        if (!stopped) changed(open);
      } catch (error) {
        if (!stopped) say(`what the run waits for cannot be read: ${messageOf(error)}`);
      }
    } while (again);
    reading = undefined;
  }

  return {
    event(event) {
      if (!TELLING.has(event.type)) return;
      if (reading === undefined) reading = read();
      else again = true;
    },
    read: async () => reading,
    stop() {
      stopped = true;
    },
  };
}
