/** How many columns a text takes in a terminal, and how it is broken into lines of so many. */
import { withoutControls } from './control-sequences.js';

const ASCII = /^[\x20-\x7e]*$/;
const ZERO_WIDTH = /^[\p{Mn}\p{Me}\p{Cf}]/u;
const WIDE =
  /^(?:\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{20000}-\u{3fffd}])/u;

/** In UTF-16: a family of emoji has eleven. */
const LONGEST_GRAPHEME = 16;

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

export function textWidth(text: string): number {
  if (ASCII.test(text)) return text.length;
  let width = 0;
  // Word by word: the segmenter's time grows faster than its text.
  for (const [word] of text.matchAll(/ +|[^ ]{1,400}/gu)) {
    if (ASCII.test(word)) width += word.length;
    else for (const { segment } of graphemes.segment(word)) width += graphemeWidth(segment);
  }
  return width;
}

/** What models and tools say is shown, never obeyed: no escape sequence of theirs reaches the terminal. */
export function printable(text: string): string {
  return withoutControls(text).replaceAll('\t', '    ');
}

/** Breaks at spaces, long words anywhere; keeps line breaks and indentation. */
export function wrap(text: string, width: number): string[] {
  return text
    .split('\n')
    .flatMap((line) => breaksOf(line, Math.max(1, width)).map(([from, to]) => line.slice(from, to)));
}

/** With something in front of the first line, which may have styles, and as much room in front of the others. */
export function hang(lead: string, text: string, width: number, style = (line: string) => line): string[] {
  const room = textWidth(withoutControls(lead));
  return wrap(text, width - room).map((line, index) => `${index === 0 ? lead : ' '.repeat(room)}${style(line)}`);
}

/** Cut to so many columns, with an ellipsis where something is missing. */
export function fit(text: string, width: number): string {
  if (textWidth(text) <= width) return text;
  const [head = ''] = breakWord(text, Math.max(1, width - 1));
  return `${head}…`;
}

/** Where one line of text is broken: from and to, in order; what is between two is the space that was there. */
export function breaksOf(line: string, width: number): [from: number, to: number][] {
  const end = line.trimEnd().length;
  if (textWidth(line.slice(0, end)) <= width) return [[0, end]];
  const breaks: [number, number][] = [];
  let [from, to] = [0, 0];
  for (const { 0: piece, index } of line.matchAll(/\s*\S+/g)) {
    const stop = index + piece.length;
    if (textWidth(line.slice(from, stop)) <= width) {
      to = stop;
      continue;
    }
    if (to > from) breaks.push([from, to]);
    // The first line keeps its indentation.
    from = breaks.length === 0 ? index : stop - piece.trimStart().length;
    for (const part of breakWord(line.slice(from, stop), width).slice(0, -1)) {
      breaks.push([from, from + part.length]);
      from += part.length;
    }
    to = stop;
  }
  return to > from ? [...breaks, [from, to]] : breaks;
}

/** Into parts of so many columns, wherever that is. */
export function breakWord(word: string, width: number): string[] {
  const parts: string[] = [];
  for (let at = 0; at < word.length; at += parts.at(-1)?.length ?? 1) {
    // Of a word without end only the next part is looked at.
    parts.push(headOf(word.slice(at, at + width * LONGEST_GRAPHEME), width));
  }
  return parts;
}

/** As much as fits, and at least one character. */
function headOf(text: string, width: number): string {
  if (ASCII.test(text)) return text.slice(0, Math.max(1, width));
  let [end, used] = [0, 0];
  for (const { segment } of graphemes.segment(text)) {
    used += graphemeWidth(segment);
    if (used > width && end > 0) break;
    end += segment.length;
  }
  return text.slice(0, end);
}

function graphemeWidth(grapheme: string): number {
  if (ASCII.test(grapheme)) return grapheme.length;
  if (ZERO_WIDTH.test(grapheme)) return 0;
  // U+FE0F asks for the picture of a character that is otherwise text.
  return WIDE.test(grapheme) || grapheme.includes('\ufe0f') ? 2 : 1;
}
