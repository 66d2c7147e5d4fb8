/** What was entered before, for the arrow keys; the line that is being written is kept at its end. */

export interface History {
  /** The entry before the one that is shown; undefined at the first. */
  previous(shown: string): string | undefined;
  next(): string | undefined;
  add(text: string): void;
}

const MOST_ENTRIES = 1_000;

/** `keep` is called with each new entry. */
export function createHistory(before: readonly string[] = [], keep: (text: string) => void = () => {}): History {
  const entries = before.slice(-MOST_ENTRIES);
  let at = entries.length;
  let draft = '';
  return {
    previous(shown) {
      if (at === 0) return undefined;
      if (at === entries.length) draft = shown;
      at -= 1;
      return entries[at];
    },
    next() {
      if (at >= entries.length) return undefined;
      at += 1;
      return at === entries.length ? draft : entries[at];
    },
    add(text) {
      draft = '';
      if (text.trim() !== '' && entries.at(-1) !== text) {
        entries.push(text);
        if (entries.length > MOST_ENTRIES) entries.shift();
        keep(text);
      }
      at = entries.length;
    },
  };
}
