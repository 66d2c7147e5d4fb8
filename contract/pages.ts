/**
 * Reading a list of JSON items by query, in pages of bounded size. An item larger than a page is cut into slices
 * of its text, so no read ever exceeds the page, and the bytes that a reader sees are the ones that the workflow
 * wrote. No zod here: workflows make pages, readers join them.
 */
import { LARGE_PAGE_BYTES, PAGE_CHARS } from './sizes.js';

/** `from` may be negative (counted from the end); `offset` is where in the text of item `from` to begin. */
export interface PageRequest {
  from: number;
  offset?: number;
  /** All there is in one page: only of a workflow that has ended, where each page would cost a replay. */
  whole?: boolean;
  /** As much in one page as does not leave history: of such a workflow, for a reader without external storage. */
  large?: boolean;
}

interface Slice {
  index: number;
  offset: number;
  text: string;
  /** Length of the whole item's text; the slice is the last one when offset + text reaches it. */
  total: number;
}

export interface Page {
  slices: Slice[];
  /** Number of items there are. */
  tail: number;
  /** Where the next page begins; absent when this one reaches the tail. */
  next?: { from: number; offset: number };
}

export function makePage(items: number, textOf: (index: number) => string, request: PageRequest): Page {
  const { from, offset: begin } = checked(request);
  let index = from < 0 ? Math.max(0, items + from) : from;
  let offset = begin;
  const measure = measureOf(request);
  let { room } = measure;
  const slices: Slice[] = [];
  while (index < items && room > 0) {
    const whole = textOf(index);
    const { length, cost } = measure.fit(whole, offset, room);
    const text = whole.slice(offset, offset + length);
    const isCut = offset === 0 && text.length < whole.length;
    if (slices.length > 0 && (cost > room || (isCut && !measure.fills))) break;
    slices.push({ index, offset, text, total: whole.length });
    room -= cost;
    offset += text.length;
    if (offset >= whole.length) {
      index += 1;
      offset = 0;
    }
  }
  return index < items ? { slices, tail: items, next: { from: index, offset } } : { slices, tail: items };
}

interface Measure {
  room: number;
  /** Also with a part of an item that would fit into the next page. */
  fills: boolean;
  /** How much of the text from the offset on has room, and what it takes of it. */
  fit(text: string, offset: number, room: number): { length: number; cost: number };
}

function measureOf({ whole, large }: PageRequest): Measure {
  if (whole !== true && large === true) return { room: LARGE_PAGE_BYTES, fills: true, fit: fitEncoded };
  return {
    room: whole === true ? Number.POSITIVE_INFINITY : PAGE_CHARS,
    fills: false,
    fit(text, offset, room) {
      const length = Math.max(0, Math.min(room, text.length - offset));
      return { length, cost: length };
    },
  };
}

/** Of a slice beside its text, as JSON. */
const SLICE_BYTES = 96;

function fitEncoded(text: string, offset: number, room: number): { length: number; cost: number } {
  let cost = SLICE_BYTES;
  let end = offset;
  for (; end < text.length; end++) {
    const bytes = encodedBytes(text.charCodeAt(end));
    if (cost + bytes > room && end > offset) break;
    cost += bytes;
  }
  return { length: Math.max(0, end - offset), cost };
}

/** Of a UTF-16 code unit in a text in JSON, in UTF-8, at most: half of a pair may stand alone. */
function encodedBytes(unit: number): number {
  if (unit === 0x22 || unit === 0x5c) return 2;
  if (unit < 0x20 || (unit >= 0xd800 && unit <= 0xdfff)) return 6;
  return unit < 0x80 ? 1 : unit < 0x800 ? 2 : 3;
}

/** Anyone can send a query: what is no number is the beginning. */
function checked({ from, offset }: { from?: unknown; offset?: unknown }): { from: number; offset: number } {
  const whole = (value: unknown) => (typeof value === 'number' && Number.isFinite(value) ? Math.trunc(value) : 0);
  return { from: whole(from), offset: Math.max(0, whole(offset)) };
}

/** Reads items from `from` up to the tail (or `until`), page by page, and yields each one's whole text. */
export async function* readPages<P extends Page>(
  read: (request: PageRequest) => Promise<P>,
  from: number,
  until = Number.POSITIVE_INFINITY,
): AsyncGenerator<{ index: number; text: string; page: P }> {
  let request: PageRequest = { from };
  let held = '';
  for (;;) {
    const page = await read(request);
    for (const slice of page.slices) {
      if (slice.index >= until) return;
      held = slice.offset === 0 ? slice.text : held + slice.text;
      if (held.length === slice.total) yield { index: slice.index, text: held, page };
    }
    if (page.next === undefined || page.next.from >= until) return;
    request = page.next;
  }
}
