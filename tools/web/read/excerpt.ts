/** Where in a text a query is found, in a few words around it. */
const AROUND_CHARS = 240;

/** The words of a query, as they are compared: without case and marks. */
export function queryWords(query: string): string[] {
  return [...new Set(folded(query).match(/[\p{L}\p{N}]+/gu) ?? [])];
}

/** How many of the words a text has. */
export function wordsIn(text: string, words: readonly string[]): number {
  const plain = folded(text);
  return words.filter((word) => plain.includes(word)).length;
}

export function excerptOf(text: string, query: string): string {
  const words = queryWords(query);
  const line = text.replaceAll(/\s+/g, ' ');
  const plain = folded(line);
  const places = words.map((word) => plain.indexOf(word)).filter((at) => at >= 0);
  const at = places.length === 0 ? 0 : Math.min(...places);
  const from = at <= AROUND_CHARS / 2 ? 0 : line.indexOf(' ', at - AROUND_CHARS / 2) + 1;
  const to = line.length <= from + 2 * AROUND_CHARS ? line.length : line.lastIndexOf(' ', from + 2 * AROUND_CHARS);
  const end = to > from ? to : from + 2 * AROUND_CHARS;
  return `${from > 0 ? '… ' : ''}${line.slice(from, end)}${end < line.length ? ' …' : ''}`;
}

/** Letter for letter, so that places in it are places in the text: a letter that would become two stays as it is. */
function folded(text: string): string {
  return text.replaceAll(/\P{ASCII}|[A-Z]/gu, (letter) => {
    const plain = letter.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase();
    return plain.length === letter.length ? plain : letter;
  });
}
