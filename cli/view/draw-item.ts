/** An item of the picture as lines of a terminal. */
import { duration } from '../format.js';
import type { Styles } from '../terminal.js';
import { fit, printable, textWidth, wrap } from '../text-width.js';
import type { Paper } from '../markdown/draw-markdown.js';
import type { Item } from './picture.js';

export interface Canvas {
  width: number;
  styles: Styles;
  now: number;
  /** One character, turning. */
  spinner: string;
  /** Only the end of a long text can be seen, so only that is laid out. */
  lastLines?: number;
  /** Draws the model's texts, where they are read as Markdown. */
  markdown?: (text: string, paper: Paper) => string[];
}

const INDENT = '  ';

export function drawItem(item: Item, canvas: Canvas): string[] {
  const { styles, width } = canvas;
  switch (item.kind) {
    case 'thinking':
      return paragraphs(item.text, width - INDENT.length, canvas.lastLines).map((line) => styles.dim(INDENT + line));
    case 'text': {
      const lines =
        canvas.markdown === undefined ? paragraphs(item.text, width, canvas.lastLines) : formatted(item.text, canvas);
      return item.interrupted ? [...lines, styles.yellow('(interrupted)')] : lines;
    }
    case 'input':
      return [styles.dim(fit(`${canvas.spinner} ${printable(`${item.name ?? ''} ${item.text}`)}`, width))];
    case 'note':
      return wrap(printable(item.text), width - INDENT.length).map((line, index) =>
        item.tone === 'loud'
          ? styles.yellow(`${index === 0 ? '! ' : INDENT}${line}`)
          : styles.dim(`${index === 0 ? '↻ ' : INDENT}${line}`),
      );
    case 'tool':
      return drawTool(item, canvas);
  }
}

function drawTool(item: Extract<Item, { kind: 'tool' }>, canvas: Canvas): string[] {
  const { styles, width, now, spinner } = canvas;
  const attempts = (item.attempts ?? 1) > 1 ? `, ${item.attempts} attempts` : '';
  const elapsed = item.duration_ms ?? (item.started === undefined ? undefined : now - item.started);
  const time = elapsed === undefined ? '' : `  ${duration(elapsed)}${attempts}`;
  const icon = item.open ? spinner : item.failure === undefined ? styles.green('✓') : styles.red('✗');
  const name = printable(item.name);
  const room = width - 2 - textWidth(name) - 1 - textWidth(time);
  const args = room < 4 ? '' : ` ${fit(printable(item.arguments).replace(/\s+/g, ' '), room)}`;
  const head = `${icon} ${styles.bold(fit(name, width - 2))}${styles.dim(`${args}${time}`)}`;
  if (item.failure !== undefined) {
    const why = wrap(printable(`${item.failure.kind}: ${item.failure.message}`), width - 4).slice(0, 3);
    return [head, ...why.map((line) => `    ${styles.red(line)}`)];
  }
  if (!item.open || item.progress === undefined) return [head];
  return [head, styles.dim(fit(`    ${printable(item.progress)}`, width))];
}

/** No regular expression for its end: on a page of spaces that takes for ever. */
function trimmed(text: string): string {
  return printable(text).replace(/^\n+/, '').trimEnd();
}

function formatted(text: string, { width, styles, lastLines, markdown }: Canvas): string[] {
  const clean = trimmed(text);
  const lines = clean === '' ? [] : (markdown?.(clean, { width, styles }) ?? []);
  return lastLines === undefined ? lines : lines.slice(-lastLines);
}

function paragraphs(text: string, width: number, lastLines: number | undefined): string[] {
  const clean = trimmed(text);
  if (clean === '') return [];
  const visible = lastLines === undefined ? clean : clean.split('\n').slice(-lastLines).join('\n');
  const lines = wrap(visible, width);
  return lastLines === undefined ? lines : lines.slice(-lastLines);
}
