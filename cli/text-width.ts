/** How many columns a text takes in a terminal, and how it is broken into lines of so many. */
import { stripVTControlCharacters } from 'node:util';

const ASCII = /^[\x20-\x7e]*$/;
const ZERO_WIDTH = /^[\p{Mn}\p{Me}\p{Cf}]/u;
const WIDE =
  /^(?:\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{20000}-\u{3fffd}])/u;

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

export function textWidth(text: string): number {
  if (ASCII.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemes.segment(text)) width += graphemeWidth(segment);
  return width;
}

/** What models and tools say is shown, never obeyed: no escape sequence of theirs reaches the terminal. */
export function printable(text: string): string {
  return (
    stripVTControlCharacters(text)
      .replaceAll('\r\n', '\n')
      .replaceAll('\t', '    ')
      // oxlint-disable-next-line no-control-regex -- control characters are what this removes
      .replace(/[\x00-\x09\x0b-\x1f\x7f-\x9f]/g, '')
  );
}

/** Breaks at spaces, long words anywhere; keeps line breaks and indentation. */
export function wrap(text: string, width: number): string[] {
  return text.split('\n').flatMap((paragraph) => wrapParagraph(paragraph, Math.max(1, width)));
}

/** Cut to so many columns, with an ellipsis where something is missing. */
export function fit(text: string, width: number): string {
  if (textWidth(text) <= width) return text;
  const [head = ''] = breakWord(text, Math.max(1, width - 1));
  return `${head}…`;
}

function wrapParagraph(paragraph: string, width: number): string[] {
  if (textWidth(paragraph) <= width) return [paragraph.trimEnd()];
  const lines: string[] = [];
  let line = '';
  for (const piece of paragraph.match(/\s*\S+/g) ?? []) {
    if (textWidth(line + piece) <= width) {
      line += piece;
      continue;
    }
    if (line !== '') lines.push(line);
    const pieces = breakWord(line === '' && lines.length === 0 ? piece : piece.trimStart(), width);
    lines.push(...pieces.slice(0, -1));
    line = pieces.at(-1) ?? '';
  }
  return line === '' ? lines : [...lines, line];
}

function breakWord(word: string, width: number): string[] {
  const parts: string[] = [];
  let part = '';
  let used = 0;
  for (const { segment } of graphemes.segment(word)) {
    const wide = graphemeWidth(segment);
    if (used + wide > width && part !== '') {
      parts.push(part);
      part = '';
      used = 0;
    }
    part += segment;
    used += wide;
  }
  return part === '' ? parts : [...parts, part];
}

function graphemeWidth(grapheme: string): number {
  if (ASCII.test(grapheme)) return grapheme.length;
  if (ZERO_WIDTH.test(grapheme)) return 0;
  // U+FE0F asks for the picture of a character that is otherwise text.
  return WIDE.test(grapheme) || grapheme.includes('\ufe0f') ? 2 : 1;
}
