/** A table as rows with bars. Tables inside cells, and cells over several lines, become one line each. */
import { isElement } from './dom-nodes.js';
import type { DomElement, DomNode } from './dom-nodes.js';

const MAX_SPAN = 20;

export function tableText(table: DomElement): string {
  const rows: string[][] = [];
  let caption = '';
  const isSection = (node: DomNode) => /^T(HEAD|BODY|FOOT)$/i.test(node.nodeName);
  const parts = Array.from(table.childNodes).flatMap((node) =>
    isSection(node) ? Array.from(node.childNodes) : [node],
  );
  for (const node of parts.filter(isElement)) {
    const tag = node.nodeName.toUpperCase();
    if (tag === 'CAPTION') caption = cellText(node);
    else if (tag === 'TR') rows.push(cellsOf(node));
  }
  const filled = rows.filter((cells) => cells.some((cell) => cell !== ''));
  const [head] = filled;
  if (head === undefined) return caption;
  // A table of one column is there for the layout.
  if (filled.every((cells) => cells.length === 1)) return filled.map(([cell]) => cell).join('\n\n');
  const width = filled.reduce((most, cells) => Math.max(most, cells.length), 0);
  const line = (cells: readonly string[]) =>
    `| ${Array.from({ length: width }, (_, at) => cells[at] ?? '').join(' | ')} |`;
  const rule = `|${' --- |'.repeat(width)}`;
  return [...(caption === '' ? [] : [caption, '']), line(head), rule, ...filled.slice(1).map(line)].join('\n');
}

function cellsOf(row: DomElement): string[] {
  return Array.from(row.childNodes)
    .filter(isElement)
    .filter((cell) => /^T[HD]$/i.test(cell.nodeName))
    .flatMap((cell) => {
      const span = Math.min(Number(cell.getAttribute('colspan')) || 1, MAX_SPAN);
      return [cellText(cell), ...Array.from({ length: Math.max(0, span - 1) }, () => '')];
    });
}

function cellText(cell: DomElement): string {
  return (cell.textContent ?? '').replaceAll(/\s+/g, ' ').trim().replaceAll('|', '\\|');
}
