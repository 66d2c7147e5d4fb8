/** Lines about what the command itself does, on stderr: on a terminal one line that gives way to the next. */
import { isLive, stylesFor } from './terminal.js';
import { fit, printable, wrap } from './text-width.js';

export interface Notices {
  /** Passing news: replaced by the next on a terminal. */
  passing(line: string): void;
  /** Stays. */
  lasting(line: string): void;
  /** Takes the passing line away. */
  clear(): void;
}

export function createNotices(stream = process.stderr): Notices {
  const { dim } = stylesFor(stream);
  const live = isLive(stream);
  const columns = () => stream.columns || 80;
  let shown = false;
  const clear = () => {
    if (shown) stream.write('\r\x1b[K');
    shown = false;
  };
  return {
    clear,
    passing(line) {
      if (!live) return void stream.write(`${line}\n`);
      clear();
      stream.write(dim(fit(printable(line).replaceAll('\n', ' '), columns() - 1)));
      shown = true;
    },
    lasting(line) {
      clear();
      const lines = live ? wrap(printable(line), columns() - 1) : [line];
      stream.write(lines.map((text) => `${dim(text)}\n`).join(''));
    },
  };
}
