/** So many of what comes in pages, as a command was asked for. */
import { jsonText } from './control-sequences.js';
import { drawTable } from './draw-table.js';
import { isLive, stylesFor } from './terminal.js';
import { stderr, stdout } from './own-output.js';

export interface Listing<T> {
  items: T[];
  /** There are more. */
  isCut: boolean;
}

/** A page may hold fewer than was asked for, and still be followed by another one. */
export async function listPages<T>(
  limit: number,
  largestPage: number,
  read: (page: { limit: number; cursor?: string }) => Promise<{ items: T[]; next_cursor?: string }>,
): Promise<Listing<T>> {
  const items: T[] = [];
  let cursor: string | undefined;
  do {
    const page = await read({
      limit: Math.min(limit - items.length, largestPage),
      ...(cursor === undefined ? {} : { cursor }),
    });
    items.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor !== undefined && items.length < limit);
  return { items, isCut: cursor !== undefined };
}

interface Shown<T> {
  /** In the plural. */
  noun: string;
  heading: readonly string[];
  row(item: T): string[];
  json: boolean;
}

export function printListing<T>({ items, isCut }: Listing<T>, { noun, heading, row, json }: Shown<T>): void {
  if (json) stdout.write(items.map((item) => `${jsonText(item)}\n`).join(''));
  else if (items.length > 0) {
    const width = isLive(stdout) ? stdout.columns : undefined;
    stdout.write(drawTable(heading, items.map(row), { styles: stylesFor(stdout), width }));
  }
  if (items.length === 0) stderr.write(`no ${noun}\n`);
  if (isCut) stderr.write(`there are more ${noun}: ask with a larger --limit\n`);
}
