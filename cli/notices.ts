/** Lines about what the command itself does, on stderr: on a terminal one line that gives way to the next. */
import { withoutControls } from './control-sequences.js';
import { isLive, stylesFor } from './terminal.js';
import { fit, printable, wrap } from './text-width.js';
import { stderr } from './own-output.js';

export interface Notices {
  /** Passing news: replaced by the next on a terminal. */
  passing(line: string): void;
  /** Stays. */
  lasting(line: string): void;
  /** Stays, and must be seen: its first line is red. */
  loud(text: string): void;
  /** What the application printed: it stays, as it is. */
  print(text: string): void;
  /** Takes the passing line away. */
  clear(): void;
}

export function createNotices(stream = stderr): Notices {
  const { dim, red } = stylesFor(stream);
  const live = isLive(stream);
  const columns = () => stream.columns || 80;
  let shown = false;
  const clear = () => {
    if (shown) stream.write('\r\x1b[K');
    shown = false;
  };
  const print = (text: string, style: (line: string, index: number) => string) => {
    clear();
    const lines = live ? wrap(printable(text), columns() - 1) : withoutControls(text).split('\n');
    stream.write(lines.map((line, index) => `${style(line, index)}\n`).join(''));
  };
  return {
    clear,
    passing(line) {
      if (!live) return void stream.write(`${withoutControls(line)}\n`);
      clear();
      stream.write(dim(fit(printable(line).replaceAll('\n', ' '), columns() - 1)));
      shown = true;
    },
    lasting: (line) => print(line, (text) => dim(text)),
    print: (text) => print(text, (line) => line),
    loud: (text) => print(text, (line, index) => (index === 0 ? red(line) : line)),
  };
}
