/**
 * Texts of callers, models and tools where Temporal's UI reads Markdown: they are shown as they were written, and no
 * link, picture or heading of theirs is one. No zod here.
 */

/** On one line, for the details of a run or a thread. */
export function plain(text: string): string {
  return escaped(text.replace(/\s+/g, ' ').trim());
}

/** Line by line, as somebody's words. */
export function quotedLines(text: string): string[] {
  return text.split(/\r\n|[\n\r\u2028\u2029]/).map((line) => `> ${escaped(line)}`.trimEnd());
}

/** Ids and arguments. Nothing is live in a code span, and nothing ends it but its own sign. */
export function code(text: string): string {
  const inside = text.replace(/\s+/g, ' ').replaceAll('`', '´').trim();
  return inside === '' ? '' : `\`${inside}\``;
}

/**
 * One line of 100 characters, for a run, an activity or a child: the server takes 400 bytes of it, and a character has
 * at most 4. Lists show it as it is, so it is left as it is but for what would begin a link or a tag.
 */
export function summaryLine(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  const cut = line.length > 100 ? `${line.slice(0, 99)}…` : line;
  return cut.replaceAll(/(\\*)(\]\(|<)/g, (_, slashes: string, live: string) =>
    live === '<' ? `${slashes}${slashes}\\<` : `${slashes}${slashes}]\\(`,
  );
}

function escaped(text: string): string {
  return text.replaceAll(/[\\`*_[\]<>&#!|~]/g, '\\$&');
}
