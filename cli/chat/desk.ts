/** Where a chat takes place: what is typed or piped in, what stays on the screen, and the view of the turn that goes on. */
import { createInterface } from 'node:readline';
import type { WriteStream } from 'node:tty';
import type { LineReader } from '../line-reader.js';
import { readKeyboard } from '../line-reader.js';
import { isLive, stylesFor } from '../terminal.js';
import type { Styles } from '../terminal.js';
import { printable, wrap } from '../text-width.js';
import { createPlainView } from '../view/plain-view.js';
import type { RunView } from '../view/run-view.js';
import { createScreen } from '../view/screen.js';
import type { Screen } from '../view/screen.js';
import { createTerminalView } from '../view/terminal-view.js';
import { createComposer } from './composer.js';

export interface Desk {
  readonly styles: Styles;
  /** Where somebody sits here and can be asked. */
  readonly questions: LineReader | undefined;
  /** The next line; undefined where there are no more, or when the signal aborts. */
  next(signal: AbortSignal): Promise<string | undefined>;
  /** Back to the line that is being written: it was not taken. */
  restore(text: string): void;
  /** Lines that stay. */
  print(lines: readonly string[]): void;
  /** About the command and not of the conversation. */
  note(text: string): void;
  /** For one turn; there is one at a time. */
  openView(): RunView;
  close(): void;
}

export function openDesk(): Desk {
  return process.stdin.isTTY && isLive(process.stdout) ? openTerminal(process.stdout, readKeyboard()) : openPipe();
}

/** Lines come from a pipe or a file, or what is shown goes to one: nothing is redrawn, nobody is asked. */
function openPipe(): Desk {
  const styles = stylesFor(process.stdout);
  const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  const note = (text: string) => void process.stderr.write(`${text}\n`);
  return {
    styles,
    questions: undefined,
    async next(signal) {
      if (signal.aborted) return undefined;
      let leave: () => void = () => {};
      const left = new Promise<undefined>((resolve) => {
        leave = () => resolve(undefined);
        signal.addEventListener('abort', leave, { once: true });
      });
      const line = await Promise.race([lines.next(), left]);
      signal.removeEventListener('abort', leave);
      return line === undefined || line.done === true ? undefined : line.value;
    },
    restore() {},
    print: (printed) => void process.stdout.write(printed.map((line) => `${line}\n`).join('')),
    note,
    openView: () =>
      isLive(process.stdout) ? createTerminalView(process.stdout) : createPlainView(process.stdout, process.stderr),
    close() {},
  };
}

const HINT = 'a message, or /help';

/** Between turns there is a line to write on at the end of the screen; while one goes on, it stands below its view. */
export function openTerminal(terminal: WriteStream, keyboard: LineReader): Desk {
  const styles = stylesFor(terminal);
  const composer = createComposer(keyboard);
  let typed = '';
  let isOpen = true;
  let view: RunView | undefined;
  let screen: Screen | undefined = createScreen(terminal);

  function draw(printed: readonly string[] = []): void {
    if (view !== undefined) return view.prompt([`> ${typed}`]);
    if (!isOpen || screen === undefined) return;
    const width = screen.columns() - 1;
    const shown = wrap(printable(`> ${typed}`), width).slice(-screen.rows() + 1);
    const hint = typed.length > 1 ? [] : [styles.dim(HINT)];
    // Styled lines are left to the terminal to break: their colours have no width.
    const settled = printed.flatMap((line) => (line.includes('\x1b') ? [line] : wrap(line, width)));
    screen.update(settled, ['', ...shown, ...hint]);
  }

  function print(lines: readonly string[]): void {
    if (view === undefined) draw(lines);
    else view.note(lines.join('\n'));
  }

  return {
    styles,
    questions: composer.questions,
    next(signal) {
      const show = (text: string) => {
        typed = text;
        draw();
      };
      return composer.next(show, signal);
    },
    restore: (text) => composer.restore(text),
    print,
    note: (text) => print(wrap(printable(text), (terminal.columns || 80) - 1).map(styles.dim)),
    openView() {
      screen?.update([], []);
      screen?.close();
      screen = undefined;
      const opened = createTerminalView(terminal);
      view = {
        ...opened,
        end(summary) {
          opened.end(summary);
          view = undefined;
          screen = createScreen(terminal);
          draw();
        },
      };
      draw();
      return view;
    },
    close() {
      isOpen = false;
      screen?.update([], []);
      screen?.close();
    },
  };
}
