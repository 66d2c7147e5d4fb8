/** Where a chat takes place: what is typed or piped in, what stays on the screen, and the view of the turn that goes on. */
import { createInterface } from 'node:readline';
import { withoutControls } from '../control-sequences.js';
import { count } from '../format.js';
import type { History } from '../keyboard/history.js';
import type { Keyboard, LineReader } from '../keyboard/line-reader.js';
import { drawMarkdown } from '../markdown/draw-markdown.js';
import { CURSOR, readKeyboard } from '../keyboard/line-reader.js';
import { isLive, stylesFor } from '../terminal.js';
import type { Styles } from '../terminal.js';
import { hang, printable, wrap } from '../text-width.js';
import { createPlainView } from '../view/plain-view.js';
import type { RunView } from '../view/run-view.js';
import { createScreen } from '../view/screen.js';
import type { Screen } from '../view/screen.js';
import { createTerminalView } from '../view/terminal-view.js';
import type { ViewOptions } from '../view/terminal-view.js';
import { createComposer } from './composer.js';
import { stderr, stdout } from '../own-output.js';
import type { Output } from '../own-output.js';

export interface Desk {
  readonly styles: Styles;
  /** Where somebody sits here and can be asked. */
  readonly questions: LineReader | undefined;
  /** The next line; undefined where there are no more, or when the signal aborts. */
  next(signal: AbortSignal): Promise<string | undefined>;
  /** Back to the line that is being written, since it was not taken; false where something else stands there. */
  restore(text: string): boolean;
  /** What the model said, as lines. */
  tell(text: string): string[];
  /** Lines that stay. */
  print(lines: readonly string[]): void;
  /** About the command and not of the conversation; loud is what must be seen. */
  note(text: string, tone?: 'quiet' | 'loud'): void;
  /** For one turn; there is one at a time. */
  openView(): RunView;
  /** Gives what was typed and not entered. */
  close(): string;
}

export interface DeskOptions extends ViewOptions {
  /** What was entered before; asked for where somebody types. */
  history(): History;
}

export function openDesk(options: DeskOptions): Desk {
  return process.stdin.isTTY && isLive(stdout) ? openTerminal(stdout, readKeyboard(), options) : openPipe(options);
}

/** Lines come from a pipe or a file, or what is shown goes to one: nothing is redrawn, nobody is asked. */
function openPipe(options: ViewOptions): Desk {
  const styles = stylesFor(stdout);
  const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  const note = (text: string) => void stderr.write(`${withoutControls(text)}\n`);
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
    tell: (text) => tellText(text, stdout, options),
    restore: () => false,
    print: (printed) => void stdout.write(printed.map((line) => `${line}\n`).join('')),
    note,
    openView: () => (isLive(stdout) ? createTerminalView(stdout, options) : createPlainView(stdout, stderr)),
    close: () => '',
  };
}

function tellText(text: string, output: Output, { markdown }: ViewOptions): string[] {
  const clean = printable(text).trimEnd();
  if (!markdown || !isLive(output)) return clean.split('\n');
  return drawMarkdown(clean, { width: (output.columns || 80) - 1, styles: stylesFor(output) });
}

/** So many lines of what is written are shown, around the cursor. */
const PROMPT_LINES = 8;

function promptLines(typed: string, width: number): string[] {
  const lines = hang('> ', printable(typed), width);
  const cursor = lines.findIndex((each) => each.includes(CURSOR));
  const from = Math.max(0, Math.min(cursor - PROMPT_LINES + 1, lines.length - PROMPT_LINES));
  const shown = lines.slice(from, from + PROMPT_LINES);
  const hidden = lines.length - shown.length;
  return hidden === 0 ? shown : [...shown, `  (and ${count(hidden, 'more line')})`];
}

const HINT = 'a message, or /help';

/** Between turns there is a line to write on at the end of the screen; while one goes on, it stands below its view. */
export function openTerminal(terminal: Output, keyboard: Keyboard, options: DeskOptions): Desk {
  const styles = stylesFor(terminal);
  const history = options.history();
  const composer = createComposer(keyboard, history);
  // From the first moment: what is typed before it is asked for must be neither lost nor shown by the terminal.
  const release = keyboard.hold();
  let typed = '';
  let isOpen = true;
  let view: RunView | undefined;
  let screen: Screen | undefined = createScreen(terminal);

  function draw(printed: readonly string[] = []): void {
    const width = Math.max(20, terminal.columns || 80) - 1;
    const shown = promptLines(typed, width);
    if (view !== undefined) return view.prompt(shown);
    if (!isOpen || screen === undefined) return;
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
    tell: (text) => tellText(text, terminal, options),
    print,
    note(text, tone = 'quiet') {
      if (view !== undefined) return view.note(text, tone);
      const lines = wrap(printable(text), (terminal.columns || 80) - 1);
      draw(lines.map((line, index) => (tone === 'quiet' ? styles.dim(line) : index === 0 ? styles.red(line) : line)));
    },
    openView() {
      screen?.update([], []);
      screen?.close();
      screen = undefined;
      const opened = createTerminalView(terminal, options);
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
      release();
      const draft = composer.draft();
      history.add(draft);
      return draft;
    },
  };
}
