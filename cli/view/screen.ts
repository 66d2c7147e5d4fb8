/**
 * The end of a terminal, redrawn: lines printed for good above, lines that change below. The cursor rests under the
 * last of them.
 */
import { stripVTControlCharacters } from 'node:util';
import type { Output } from '../own-output.js';
import { textWidth } from '../text-width.js';

export interface Screen {
  columns(): number;
  /** How many lines may change: what has scrolled away cannot be taken back. */
  rows(): number;
  update(printed: readonly string[], changing: readonly string[]): void;
  close(): void;
}

type Terminal = Pick<Output, 'write' | 'columns' | 'rows'>;

const HIDE_CURSOR = '\x1b[?25l';
const SHOW_CURSOR = '\x1b[?25h';
/** Terminals that know it show a frame whole; the others ignore it. */
const [BEGIN_FRAME, END_FRAME] = ['\x1b[?2026h', '\x1b[?2026l'];

export function createScreen(terminal: Terminal): Screen {
  let shown: readonly string[] = [];
  const columns = () => Math.max(20, terminal.columns || 80);
  const showCursor = () => void terminal.write(SHOW_CURSOR);
  process.once('exit', showCursor);
  terminal.write(HIDE_CURSOR);

  return {
    columns,
    rows: () => Math.max(3, (terminal.rows || 24) - 1),
    update(printed, changing) {
      if (printed.length === 0 && sameLines(changing, shown)) return;
      // The terminal has been made narrower since: a line of ours may be two of its now.
      const up = shown.reduce((rows, line) => rows + rowsOf(line, columns()), 0);
      const back = up > 0 ? `\x1b[${up}A\r` : '\r';
      // Line by line: some terminals take a clearing from the top for a page to be kept, and scroll it away.
      const lines = [...printed, ...changing].map((line) => `${line}\x1b[K\n`).join('');
      terminal.write(`${BEGIN_FRAME}${back}${lines}\x1b[J${END_FRAME}`);
      shown = changing;
    },
    close() {
      process.removeListener('exit', showCursor);
      showCursor();
    },
  };
}

function rowsOf(line: string, columns: number): number {
  return Math.max(1, Math.ceil(textWidth(stripVTControlCharacters(line)) / columns));
}

function sameLines(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((line, index) => line === b[index]);
}
