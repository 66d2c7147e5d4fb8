/** A text as numbered pages of bounded size, cut between paragraphs where it can be. The same text, the same pages. */
export const PAGE_CHARS = 8_000;

const SENTENCE_ENDS = ['. ', '! ', '? ', '。', '！', '？'];

export function splitPages(text: string, limit: number = PAGE_CHARS): string[] {
  const pages: string[] = [];
  let page = '';
  for (const paragraph of text.split(/\n{2,}/)) {
    for (const piece of cut(paragraph, limit)) {
      if (page !== '' && page.length + 2 + piece.length > limit) {
        pages.push(page);
        page = piece;
      } else page = page === '' ? piece : `${page}\n\n${piece}`;
    }
  }
  return page === '' && pages.length > 0 ? pages : [...pages, page];
}

/** A paragraph that is too long for a page: at a line's end, a sentence's, a word's, or where it must be. */
function cut(paragraph: string, limit: number): string[] {
  const pieces: string[] = [];
  let rest = paragraph;
  while (rest.length > limit) {
    const window = rest.slice(0, limit);
    const at =
      edge(window.lastIndexOf('\n'), limit) ??
      edge(Math.max(...SENTENCE_ENDS.map((end) => window.lastIndexOf(end) + 1)), limit) ??
      edge(window.lastIndexOf(' '), limit) ??
      withinCharacter(rest, limit);
    pieces.push(rest.slice(0, at).trimEnd());
    rest = rest.slice(at).trimStart();
  }
  return rest === '' ? pieces : [...pieces, rest];
}

/** An edge in the first half would leave a page that is mostly empty. */
function edge(at: number, limit: number): number | undefined {
  return at > limit / 2 ? at : undefined;
}

function withinCharacter(text: string, at: number): number {
  const unit = text.charCodeAt(at - 1);
  return unit >= 0xd800 && unit <= 0xdbff ? at - 1 : at;
}
