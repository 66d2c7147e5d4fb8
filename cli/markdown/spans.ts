/** Text with styles that can be measured and broken into lines: an escape sequence has no width. */
import type { Styles } from '../terminal.js';
import { breaksOf, textWidth } from '../text-width.js';

export interface Span {
  text: string;
  styles: readonly (keyof Styles)[];
}

export function spansWidth(spans: readonly Span[]): number {
  return Math.max(0, ...plainText(spans).split('\n').map(textWidth));
}

/** Broken between words, and where the text has line breaks. */
export function wrapSpans(spans: readonly Span[], width: number): Span[][] {
  const lines: Span[][] = [];
  let at = 0;
  for (const line of plainText(spans).split('\n')) {
    const start = at;
    lines.push(...breaksOf(line, Math.max(1, width)).map(([from, to]) => slice(spans, start + from, start + to)));
    at += line.length + 1;
  }
  return lines;
}

export function render(spans: readonly Span[], styles: Styles): string {
  return spans.map((span) => span.styles.reduce((text, name) => styles[name](text), span.text)).join('');
}

function plainText(spans: readonly Span[]): string {
  return spans.map((span) => span.text).join('');
}

function slice(spans: readonly Span[], from: number, to: number): Span[] {
  const cut: Span[] = [];
  let at = 0;
  for (const { text, styles } of spans) {
    const part = text.slice(Math.max(0, from - at), Math.max(0, to - at));
    if (part !== '') cut.push({ text: part, styles });
    at += text.length;
  }
  return cut;
}
