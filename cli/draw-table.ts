/** Rows under a heading, each column as wide as what is in it. */
import type { Styles } from './terminal.js';
import { fit, printable, textWidth } from './text-width.js';

interface TableOptions {
  styles: Styles;
  /** Longer lines are cut; undefined: they are not. */
  width: number | undefined;
}

export function drawTable(heading: readonly string[], rows: readonly string[][], options: TableOptions): string {
  const cells = rows.map((row) => row.map((cell) => printable(cell).replaceAll('\n', ' ')));
  const widths = heading.map((name, n) => Math.max(...[[...heading], ...cells].map((row) => textWidth(row[n] ?? ''))));
  const line = (row: readonly string[]) => {
    const padded = row.map((cell, n) => cell + ' '.repeat((widths[n] ?? 0) - textWidth(cell)));
    const text = padded.join('  ').trimEnd();
    return options.width === undefined ? text : fit(text, options.width);
  };
  return [options.styles.dim(line(heading)), ...cells.map(line)].map((text) => `${text}\n`).join('');
}
