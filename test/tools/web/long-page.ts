/** A page of four numbered pages, whose text says on which of them it is. */
const FILLER = 'Words that fill a page and mean nothing in particular. ';

export function longPage(): string {
  // Paragraphs that are too long for what is left of a page: each part is a page, and begins one.
  const part = (n: number) => {
    const first = `<p>The marker of part ${n} is m${n}m. ${FILLER.repeat(20)}</p>`;
    return `${first}${`<p>${FILLER.repeat(20)}</p>`.repeat(6)}`;
  };
  return `<html><head><title>A long page</title></head><body><article>${[0, 1, 2, 3].map(part).join('')}</article></body></html>`;
}

/** The markers in a result: which parts of the page it shows. */
export function markersIn(content: unknown): string[] {
  return String(content).match(/m\dm/g) ?? [];
}
