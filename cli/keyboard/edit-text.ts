/** Editing a text of one or more lines, key by key, as shells do it. */
import type { Key } from './decode-keys.js';

/** What stands before the cursor and after it, and what was cut out last. */
export interface Editing {
  before: string;
  after: string;
  cut: string;
}

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });
/** Of the last line only: the segmenter's time grows faster than its text. */
const lastGrapheme = (text: string) => Array.from(graphemes.segment(text.slice(-64))).at(-1)?.segment ?? '';
const firstGrapheme = (text: string) => graphemes.segment(text.slice(0, 64)).containing(0)?.segment ?? '';

const lineStart = (text: string) => text.slice(text.lastIndexOf('\n') + 1);
const lineEnd = (text: string) => /^[^\n]*/.exec(text)?.[0] ?? '';
const wordBefore = (text: string) => /[\p{L}\p{N}_]*[^\p{L}\p{N}_]*$/u.exec(text.slice(-400))?.[0] ?? '';
const wordAfter = (text: string) => /^[^\p{L}\p{N}_]*[\p{L}\p{N}_]*/u.exec(text)?.[0] ?? '';
const blankWordBefore = (text: string) => /\S*\s*$/.exec(text.slice(-4_000))?.[0] ?? '';

/** The text once the key has had its effect; undefined where it has none. */
export function edit(now: Editing, key: Key): Editing | undefined {
  const { before, after, cut } = now;
  const move = (by: string, to: 'left' | 'right'): Editing =>
    to === 'left'
      ? { before: before.slice(0, before.length - by.length), after: by + after, cut }
      : { before: before + by, after: after.slice(by.length), cut };
  const remove = (left: string, right = '', kept = cut): Editing => ({
    before: before.slice(0, before.length - left.length),
    after: after.slice(right.length),
    cut: kept,
  });
  const cutOut = (left: string, right = ''): Editing => remove(left, right, left + right || cut);
  const byWord = key.meta || key.ctrl;
  switch (commandOf(key)) {
    case 'text':
    case 'paste':
      return { before: before + textOf(key.text), after, cut };
    case 'alt-enter':
      return { before: `${before}\n`, after, cut };
    case 'backspace':
    case 'ctrl-h':
      return remove(lastGrapheme(before));
    case 'delete':
    case 'ctrl-d':
      return remove('', firstGrapheme(after));
    case 'left':
    case 'ctrl-b':
      return move(byWord && key.name === 'left' ? wordBefore(before) : lastGrapheme(before), 'left');
    case 'right':
    case 'ctrl-f':
      return move(byWord && key.name === 'right' ? wordAfter(after) : firstGrapheme(after), 'right');
    case 'alt-b':
      return move(wordBefore(before), 'left');
    case 'alt-f':
      return move(wordAfter(after), 'right');
    case 'home':
    case 'ctrl-a':
      return move(lineStart(before), 'left');
    case 'end':
    case 'ctrl-e':
      return move(lineEnd(after), 'right');
    case 'ctrl-u':
      return cutOut(lineStart(before) || lastGrapheme(before));
    case 'ctrl-k':
      return cutOut('', lineEnd(after) || firstGrapheme(after));
    case 'ctrl-w':
      return cutOut(blankWordBefore(before));
    case 'alt-backspace':
      return cutOut(wordBefore(before));
    case 'alt-d':
      return cutOut('', wordAfter(after));
    case 'ctrl-y':
      return { before: before + cut, after, cut };
    case 'up':
    case 'ctrl-p':
      return movedLine(now, 'up');
    case 'down':
    case 'ctrl-n':
      return movedLine(now, 'down');
    default:
      return undefined;
  }
}

/** Arrows keep their name whatever is held. */
function commandOf({ name, ctrl, meta, text }: Key): string {
  if (name === 'text' && meta) return `alt-${text.toLowerCase()}`;
  if (meta && (name === 'enter' || name === 'backspace')) return `alt-${name}`;
  return ctrl && name.length === 1 ? `ctrl-${name}` : name;
}

/** Undefined where there is no such line: then the history is meant. */
function movedLine({ before, after, cut }: Editing, to: 'up' | 'down'): Editing | undefined {
  const text = before + after;
  const column = lineStart(before).length;
  if (to === 'up') {
    const end = before.lastIndexOf('\n');
    if (end === -1) return undefined;
    const start = before.lastIndexOf('\n', end - 1) + 1;
    const at = Math.min(start + column, end);
    return { before: text.slice(0, at), after: text.slice(at), cut };
  }
  const gap = after.indexOf('\n');
  if (gap === -1) return undefined;
  const start = before.length + gap + 1;
  const at = Math.min(start + column, start + lineEnd(text.slice(start)).length);
  return { before: text.slice(0, at), after: text.slice(at), cut };
}

/** What is pasted may hold anything; only text and its line breaks are taken. */
function textOf(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what this removes
  return text.replaceAll('\t', '    ').replace(/[\x00-\x09\x0b-\x1f\x7f]/g, '');
}
