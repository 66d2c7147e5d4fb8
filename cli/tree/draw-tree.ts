/** Rows as lines of a terminal, with guides that show what belongs where. */
import type { Styles } from '../terminal.js';
import { fit, printable, textWidth, wrap } from '../text-width.js';
import type { Row, Tone } from './tree-rows.js';

export interface TreeCanvas {
  width: number;
  styles: Styles;
  /** One character, turning; where nothing turns, another one. */
  spinner: string;
}

export function drawTree(root: Row, canvas: TreeCanvas): string[] {
  return [...drawRow(root, 0, canvas).map((text) => text), ...drawRows(root.rows, '', canvas)];
}

function drawRows(rows: readonly Row[], prefix: string, canvas: TreeCanvas): string[] {
  const { dim } = canvas.styles;
  return rows.flatMap((row, index) => {
    const isLast = index === rows.length - 1;
    const below = `${prefix}${isLast ? '   ' : '│  '}`;
    const [first = '', ...more] = drawRow(row, prefix.length + 3, canvas);
    return [
      `${dim(`${prefix}${isLast ? '└─ ' : '├─ '}`)}${first}`,
      ...more.map((text) => `${dim(below)}${text}`),
      ...drawRows(row.rows, below, canvas),
    ];
  });
}

function drawRow(row: Row, indent: number, canvas: TreeCanvas): string[] {
  const { bold, dim } = canvas.styles;
  const room = Math.max(20, canvas.width - indent);
  const icon = iconOf(row.tone, canvas);
  const text = printable(row.text).replace(/\s+/g, ' ');
  if (row.whole === true) return wrap(text, room);
  const lead = icon === '' ? 0 : 2;
  const name = row.name === undefined ? '' : `${row.name}  `;
  const facts = row.facts === undefined ? '' : `  ${printable(row.facts)}`;
  const left = room - lead - textWidth(name) - textWidth(facts);
  const start = icon === '' ? '' : `${icon} `;
  if (left >= Math.min(12, textWidth(text))) {
    const shown = row.name === undefined ? fit(text, left) : fitEnd(text, left);
    return [`${start}${bold(name)}${toned(row, shown, canvas.styles)}${dim(facts)}`];
  }
  // The facts do not fit beside it: they get a line of their own.
  const alone = fitEnd(text, room - lead - textWidth(name));
  return [
    `${start}${bold(name)}${toned(row, alone, canvas.styles)}`,
    `${' '.repeat(lead)}${dim(fit(facts.trim(), room - lead))}`,
  ];
}

/** Of a run's id the end tells it from its siblings. */
function fitEnd(text: string, width: number): string {
  if (textWidth(text) <= width) return text;
  return `…${text.slice(-Math.max(1, width - 1))}`;
}

function toned({ tone, name }: Row, text: string, styles: Styles): string {
  if (name !== undefined) return styles.dim(text);
  if (tone === 'bad') return styles.red(text);
  return tone === 'waits' || tone === 'stopped' ? styles.yellow(text) : text;
}

function iconOf(tone: Tone, { styles, spinner }: TreeCanvas): string {
  switch (tone) {
    case 'good':
      return styles.green('✓');
    case 'bad':
      return styles.red('✗');
    case 'stopped':
      return styles.yellow('■');
    case 'waits':
      return styles.yellow('?');
    case 'open':
      return spinner;
    case 'none':
      return '';
  }
}
