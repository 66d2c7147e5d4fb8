/** One question at the terminal, outside the view of a run: what a command was given does not answer it. */
import type { Wish } from './submit-answer.js';
import { wishOf } from './ask-person.js';
import { EXIT } from './exit-codes.js';
import { listenForInterrupts } from './interrupts.js';
import { readKeyboard } from './keyboard/line-reader.js';
import type { Pause } from './open-pauses.js';
import { stylesFor } from './terminal.js';
import { printable, wrap } from './text-width.js';
import { createScreen } from './view/screen.js';
import { stdout } from './own-output.js';

/** Undefined where it is left at that. */
export async function askAgain(pause: Pause, refused: string | undefined): Promise<Wish | undefined> {
  const leaving = new AbortController();
  const leave = () => process.exit(EXIT.interrupted);
  listenForInterrupts().handle(leave, leave);
  const screen = createScreen(stdout);
  const { yellow } = stylesFor(stdout);
  const keyboard = readKeyboard();
  const ask = (lines: readonly string[]) =>
    keyboard.read((text) => {
      const asked = [...lines, `> ${text}`].flatMap((line) => wrap(printable(line), screen.columns() - 1));
      screen.update([], asked.slice(-screen.rows()).map(yellow));
    }, leaving.signal);
  try {
    return await wishOf(pause, ask, refused);
  } finally {
    screen.update([], []);
    screen.close();
  }
}
