/** Which pauses of a run and its descendants are open, read again whenever its stream says that this changed. */
import type { StreamEvent } from '../client/index.js';
import { messageOf } from './command-error.js';
import { readPauses } from './open-pauses.js';
import type { Pause } from './open-pauses.js';
import type { RunCommands } from './run-commands.js';

export interface PauseWatch {
  event(event: StreamEvent): void;
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
  let reading = false;
  let again = false;
  let stopped = false;

  async function read(): Promise<void> {
    if (reading) {
      again = true;
      return;
    }
    reading = true;
    do {
      again = false;
      try {
        const open = await readPauses(runs, await runs.get(runId));
        if (!stopped) changed(open);
      } catch (error) {
        if (!stopped) say(`what the run waits for cannot be read: ${messageOf(error)}`);
      }
    } while (again);
    reading = false;
  }

  return {
    event(event) {
      if (TELLING.has(event.type)) void read();
    },
    stop() {
      stopped = true;
    },
  };
}
