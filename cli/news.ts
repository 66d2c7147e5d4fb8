/** What the command has to say while it shows something: on stderr, or above the live part of the screen that is open. */
import { createNotices } from './notices.js';
import type { Notices } from './notices.js';
import { stderr } from './own-output.js';
import { isLive } from './terminal.js';
import type { RunView } from './view/run-view.js';

export interface News extends Notices {
  /** From now on it is said there; undefined: on stderr again. */
  on(view: Pick<RunView, 'note'> | undefined): void;
}

export function createNews(): News {
  const notices = createNotices();
  let view: Pick<RunView, 'note'> | undefined;
  const say = (name: 'passing' | 'lasting') => (line: string) =>
    view === undefined ? notices[name](line) : view.note(line);
  return {
    clear: notices.clear,
    passing: say('passing'),
    lasting: say('lasting'),
    loud: (text) => (view === undefined ? notices.loud(text) : view.note(text, 'loud')),
    // Whoever sends stderr elsewhere wants it there.
    print: (text) => (view === undefined || !isLive(stderr) ? notices.print(text) : view.note(text)),
    on(opened) {
      view = opened;
    },
  };
}
