/**
 * Markdown as lines of a terminal: headings, emphasis, lists, code, tables, quotes, links. The parser is marked's lexer;
 * what it gives is only drawn, never taken for HTML. The text must be printable already: none of its escape sequences
 * gets here, and none is made of what it says.
 */
import { Lexer } from 'marked';
import type { Token, Tokens } from 'marked';
import type { Styles } from '../terminal.js';
import { breakWord, printable, wrap } from '../text-width.js';
import { drawTable } from './draw-table.js';
import { inlineSpans } from './inline-spans.js';
import { render, wrapSpans } from './spans.js';

export interface Paper {
  width: number;
  styles: Styles;
}

const RULE_WIDTH = 40;
const CODE_INDENT = '  ';

/** A paragraph without end is shown as it is: the time that its emphasis takes grows with the square of its length. */
const LONGEST_PARAGRAPH = 4_000;

export function drawMarkdown(text: string, paper: Paper): string[] {
  return orAsWritten(text, paper, () => drawBlocks(readBlocks(text), paper));
}

export function readBlocks(text: string): Token[] {
  return new BoundedLexer({ gfm: true }).lex(text);
}

/** Thousands of quotes within quotes are more than the stack holds, and nothing that a person could read. */
export function orAsWritten(text: string, { width }: Paper, draw: () => string[]): string[] {
  try {
    return draw();
  } catch (error) {
    if (error instanceof RangeError) return wrap(text, width);
    throw error;
  }
}

class BoundedLexer extends Lexer {
  override inlineTokens(text: string, tokens: Token[] = []): Token[] {
    if (text.length <= LONGEST_PARAGRAPH) return super.inlineTokens(text, tokens);
    tokens.push({ type: 'escape', raw: text, text });
    return tokens;
  }
}

/** With an empty line between two, unless they belong together. */
export function drawBlocks(tokens: readonly Token[], paper: Paper, isTight = false): string[] {
  const drawn = tokens.map((token) => drawBlock(token, paper)).filter((lines) => lines.length > 0);
  return drawn.flatMap((lines, index) => (index === 0 || isTight ? lines : ['', ...lines]));
}

function drawBlock(token: Token, paper: Paper): string[] {
  const { width, styles } = paper;
  switch (token.type) {
    case 'space':
    case 'def':
      return [];
    case 'heading': {
      const { depth, tokens } = token as Tokens.Heading;
      return drawInline(tokens, paper, depth === 1 ? ['bold', 'underline'] : ['bold']);
    }
    case 'code':
      return drawCode((token as Tokens.Code).text, paper);
    case 'blockquote': {
      const lines = drawBlocks((token as Tokens.Blockquote).tokens, { ...paper, width: width - 2 });
      return lines.map((line) => `${styles.dim('│')} ${line}`);
    }
    case 'list':
      return drawList(token as Tokens.List, paper);
    case 'table':
      return drawTable(token as Tokens.Table, width, styles);
    case 'hr':
      return [styles.dim('─'.repeat(Math.min(RULE_WIDTH, width)))];
    case 'paragraph':
    case 'text':
      return drawInline(token.tokens ?? [token], paper);
    default:
      // HTML, and whatever a later version of the parser knows: as it is written.
      return drawInline([{ type: 'escape', raw: token.raw, text: token.raw.trimEnd() }], paper);
  }
}

function drawInline(tokens: readonly Token[], { width, styles }: Paper, own: (keyof Styles)[] = []): string[] {
  return wrapSpans(inlineSpans(tokens, own), width).map((line) => render(line, styles));
}

/** Its line breaks are its own: what is too long goes on in the next line, as it is. */
function drawCode(text: string, { width, styles }: Paper): string[] {
  const room = Math.max(1, width - CODE_INDENT.length);
  return printable(text)
    .split('\n')
    .flatMap((line) => (line === '' ? [''] : breakWord(line, room)))
    .map((line) => (line === '' ? '' : `${CODE_INDENT}${styles.cyan(line)}`));
}

function drawList({ ordered, start, items, loose }: Tokens.List, paper: Paper): string[] {
  const first = typeof start === 'number' ? start : 1;
  const digits = String(first + items.length - 1).length;
  return items.flatMap((item, index) => {
    const number = `${String(first + index).padStart(digits)}.`;
    const marker = item.task ? (item.checked ? '☑' : '☐') : ordered ? number : '•';
    const indent = marker.length + 1;
    const tokens = item.tokens.filter(({ type }) => type !== 'checkbox');
    const lines = drawBlocks(tokens, { ...paper, width: paper.width - indent }, !item.loose);
    const [head = '', ...rest] = lines;
    const drawn = [
      `${marker} ${head}`.trimEnd(),
      ...rest.map((line) => (line === '' ? '' : ' '.repeat(indent) + line)),
    ];
    return loose && index > 0 ? ['', ...drawn] : drawn;
  });
}
