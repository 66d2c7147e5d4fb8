/**
 * The words of a text, as they are searched: in lower case, without accents, each once. The databases cut texts into
 * words by rules of their own, which differ; ours are the same in both.
 */

/** Scripts that write words without spaces: each of their characters is a word. */
const ALONE = String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}`;
const WORD = new RegExp(String.raw`[${ALONE}]|(?:(?![${ALONE}])[\p{L}\p{M}\p{N}])+`, 'gu');
const ACCENT = /[\u0300-\u036f]/g;
/** Of a text; what is behind is not found. Postgres refuses to index more than a megabyte. */
const MOST_CHARACTERS = 100_000;
const LONGEST_WORD = 64;

export function wordsOf(...texts: (string | undefined)[]): string[] {
  const words = new Set<string>();
  for (const text of texts) {
    const plain = (text ?? '').slice(0, MOST_CHARACTERS).normalize('NFKD').replaceAll(ACCENT, '').normalize('NFC');
    // Taking characters apart can make a text longer.
    const lower = plain.slice(0, MOST_CHARACTERS).toLowerCase();
    for (const [word] of lower.matchAll(WORD)) words.add(word.slice(0, LONGEST_WORD));
  }
  return [...words];
}
