/**
 * Chat text that a conforming consumer would take for something else, made to arrive as chat.
 *
 * The contract's consumer judges each `content` event by how its text begins (a scratchpad entry, `StatusEvent(`) or
 * by the bleed strings in it. The models of this world write such text too: a list of done items begins with ✅. The
 * contract's own SDK also takes a text that is the JSON of an event for that event, and a model may answer in JSON.
 *
 * G1  A piece that begins so, white space aside, or is such JSON, gets one U+2060 (word joiner: invisible, no white
 *     space, stripped by no `trim`) in front. Steps 1 and 3 of the routing order then do not match, the SDK does not
 *     parse it, and step 5 renders it as chat.
 * G2  A bleed string is cut in its middle, so that no event holds one: step 4 does not match, whether a consumer asks
 *     for "equals", "begins with" or "contains". Concatenated, the text is what it was.
 * G3  A piece that begins with U+2060 itself gets another one. So a consumer that knows of the guard takes exactly one
 *     from the front of each piece and has the very text of the log; one that does not shows an invisible character.
 *
 * Live deltas are guarded one by one. A bleed string that a delta's end cuts needs no care, and an emoji without its
 * variation selector is guarded like a whole one.
 */
import { ENTRY_PREFIXES } from '../../contract/scratchpad-entries.js';
import { BLEED_STRINGS, LEGACY_STATUS } from './vocabulary.js';

export const GUARD = '\u2060';

const VARIATION_SELECTOR = '\ufe0f';
const STARTS = [...ENTRY_PREFIXES.map((prefix) => prefix.replace(VARIATION_SELECTOR, '')), LEGACY_STATUS, GUARD];

/** Without their emoji, which a consumer may compare with or without its variation selector. */
const TAILS = BLEED_STRINGS.map((bleed) => bleed.replace(/^[^A-Z]+/, ''));
const BLEED = new RegExp(TAILS.map((tail) => tail.replace(/[.]/g, '\\.')).join('|'), 'gi');

/** The types of events that the SDK makes of a text. */
const PROMOTED: ReadonlySet<unknown> = new Set([
  'web_status',
  'research_status',
  'scratchpad_status',
  'code_status',
  'status',
  'error',
]);

export interface Piece {
  from: number;
  text: string;
}

/** The text in pieces of which none holds a bleed string; one piece, nearly always, and none of an empty text. */
export function contentPieces(text: string): Piece[] {
  const pieces: Piece[] = [];
  let from = 0;
  for (const { 0: bleed, index } of text.matchAll(BLEED)) {
    const to = index + Math.floor(bleed.length / 2);
    pieces.push({ from, text: text.slice(from, to) });
    from = to;
  }
  if (from < text.length) pieces.push({ from, text: text.slice(from) });
  return pieces;
}

export function guarded(piece: string): string {
  const start = piece.trimStart();
  return STARTS.some((prefix) => start.startsWith(prefix)) || isEventText(start) ? GUARD + piece : piece;
}

function isEventText(start: string): boolean {
  if (!start.startsWith('{') || !start.trimEnd().endsWith('}')) return false;
  try {
    const read = JSON.parse(start) as { type?: unknown };
    return PROMOTED.has(read.type) || 'stream_type' in read;
  } catch {
    return false;
  }
}

export function unguarded(piece: string): string {
  return piece.startsWith(GUARD) ? piece.slice(GUARD.length) : piece;
}
