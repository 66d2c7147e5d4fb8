/** A table as wide as its cells, or as wide as there is room, with cells of several lines. */
import type { Tokens } from 'marked';
import type { Styles } from '../terminal.js';
import { inlineSpans } from './inline-spans.js';
import { render, spansWidth, wrapSpans } from './spans.js';
import type { Span } from './spans.js';

const GAP = ' │ ';
const NARROWEST = 4;

export function drawTable({ header, rows, align }: Tokens.Table, width: number, styles: Styles): string[] {
  const head = header.map((cell) => inlineSpans(cell.tokens, ['bold']));
  const body = rows.map((row) => row.map((cell) => inlineSpans(cell.tokens)));
  const room = width - GAP.length * (head.length - 1);
  if (room < head.length * NARROWEST) return asList(head, body, width, styles);
  const widths = fitColumns(
    head.map((_, column) => Math.max(1, ...[head, ...body].map((row) => spansWidth(row[column] ?? [])))),
    room,
  );
  const drawRow = (cells: readonly Span[][]): string[] => {
    const wrapped = widths.map((wide, column) => wrapSpans(cells[column] ?? [], wide));
    const height = Math.max(1, ...wrapped.map((lines) => lines.length));
    return Array.from({ length: height }, (_, n) =>
      widths
        .map((wide, column) => aligned(wrapped[column]?.[n] ?? [], wide, align[column] ?? null, styles))
        .join(styles.dim(GAP))
        .trimEnd(),
    );
  };
  const rule = styles.dim(widths.map((wide) => '─'.repeat(wide)).join('─┼─'));
  return [...drawRow(head), rule, ...body.flatMap(drawRow)];
}

/** The widest give way first. */
function fitColumns(natural: readonly number[], room: number): number[] {
  const widths = [...natural];
  for (let over = widths.reduce((sum, wide) => sum + wide, 0) - room; over > 0; over--) {
    const widest = widths.indexOf(Math.max(...widths));
    widths[widest] = (widths[widest] ?? 1) - 1;
  }
  return widths;
}

function aligned(spans: Span[], width: number, align: Tokens.TableCell['align'], styles: Styles): string {
  const free = Math.max(0, width - spansWidth(spans));
  const before = align === 'right' ? free : align === 'center' ? Math.floor(free / 2) : 0;
  return `${' '.repeat(before)}${render(spans, styles)}${' '.repeat(free - before)}`;
}

/** Where columns have no room beside each other: row by row, each cell with the name of its column. */
function asList(head: readonly Span[][], body: readonly Span[][][], width: number, styles: Styles): string[] {
  const rows = body.map((row) =>
    row.flatMap((cell, column) => {
      const name = head[column] ?? [];
      return wrapSpans([...name, { text: ': ', styles: [] }, ...cell], width).map((line) => render(line, styles));
    }),
  );
  return rows.flatMap((lines, n) => (n === 0 ? lines : ['', ...lines]));
}
