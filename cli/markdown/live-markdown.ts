/**
 * Markdown that is still being written, drawn again with every frame: blocks that are over are read and drawn once.
 *
 * L1  What it gives is what `drawMarkdown` gives of the same text.
 */
import type { Token } from 'marked';
import { drawBlocks, drawMarkdown, orAsWritten, readBlocks } from './draw-markdown.js';
import type { Paper } from './draw-markdown.js';

/** Calls with texts that go on with the one before cost what is new. */
export function createLiveMarkdown(): (text: string, paper: Paper) => string[] {
  /** The beginning of the text that no further text can change, and its lines. */
  let over = { text: '', lines: [] as string[] };
  let last: { text: string; width: number; lines: string[] } | undefined;

  return (text, paper) => {
    const isNew = last === undefined || last.width !== paper.width || !text.startsWith(over.text);
    if (isNew) over = { text: '', lines: [] };
    if (!isNew && last?.text === text) return last.lines;
    const lines = orAsWritten(text, paper, () => drawn(text, paper));
    last = { text, width: paper.width, lines };
    return lines;
  };

  function drawn(text: string, paper: Paper): string[] {
    const tokens = readBlocks(text.slice(over.text.length));
    // A definition changes links that stand before it: then all of it is read again.
    if (tokens.some(({ type }) => type === 'def')) {
      over = { text: '', lines: [] };
      return drawMarkdown(text, paper);
    }
    const open = openFrom(tokens);
    const [ended, rest] = [tokens.slice(0, open), tokens.slice(open)];
    const lines = joined(over.lines, drawBlocks(ended, paper));
    const raw = over.text + ended.map((token) => token.raw).join('');
    if (text.startsWith(raw)) over = { text: raw, lines };
    return joined(lines, drawBlocks(rest, paper));
  }
}

/**
 * The last two blocks may still change, and what no blank line parts from them: a line that goes on can become part of
 * the list before it.
 */
function openFrom(tokens: readonly Token[]): number {
  const blocks = tokens.flatMap(({ type }, index) => (type === 'space' ? [] : [index]));
  for (let n = blocks.length - 2; n > 0; n--) {
    const at = blocks[n] ?? 0;
    if (tokens[at - 1]?.type === 'space') return at;
  }
  return 0;
}

function joined(before: readonly string[], after: readonly string[]): string[] {
  return before.length === 0 || after.length === 0 ? [...before, ...after] : [...before, '', ...after];
}
