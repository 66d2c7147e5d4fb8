/** What `perdure run` does when the run pauses: asks the person at the keyboard, or says what to type elsewhere. */
import { userInfo } from 'node:os';
import type { StreamEvent } from '../client/index.js';
import { askPerson } from './ask-person.js';
import { describePause } from './describe-pause.js';
import type { LineReader } from './keyboard/line-reader.js';
import type { Pause } from './open-pauses.js';
import type { RunView } from './view/run-view.js';
import { watchPauses } from './watch-pauses.js';
import type { RunCommands } from './run-commands.js';

export interface PauseHandling {
  event(event: StreamEvent): void;
  /** Until the pauses that the events so far spoke of were told, or could not be read. */
  told(): Promise<void>;
  stop(): void;
}

export interface PauseOptions {
  runs: RunCommands;
  runId: string;
  view: RunView;
  /** Where somebody sits at this terminal. */
  reader: LineReader | undefined;
  /** With which another command finds the server. */
  flags: string;
}

export function handlePauses({ runs, runId, view, reader, flags }: PauseOptions): PauseHandling {
  const told = new Set<string>();
  const tell = (open: readonly Pause[]) => {
    for (const pause of open) {
      const id = `${pause.run_id} ${pause.await_id}`;
      if (told.has(id)) continue;
      told.add(id);
      const [whose = '', ...lines] = describePause(pause, open, flags);
      view.note([`waits for ${whose}`, ...lines].join('\n'));
    }
  };
  const person =
    reader === undefined
      ? { pauses: tell, stop: () => {} }
      : askPerson({ runs, reader, view, answeredBy: userInfo().username, left: (pause) => tell([pause]) });
  const watch = watchPauses({ runs, runId, changed: (open) => person.pauses(open), say: (line) => view.note(line) });
  return {
    event: (event) => watch.event(event),
    told: () => watch.read(),
    stop() {
      watch.stop();
      person.stop();
    },
  };
}
