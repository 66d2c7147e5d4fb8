/**
 * A text without the secrets that were used, in whatever form a vendor, a proxy or a library repeats them: whole, cut, a
 * piece from the middle, masked, in other letters, escaped for a URL, in base64 alone or within something else, in hex.
 * Errors are kept in histories, and shown to operators.
 *
 * A piece counts from six characters on. What is shorter tells little, and is in many words.
 */
const HIDDEN = '[hidden]';
/** What is shorter is no key: local servers take any word, and it would be hidden wherever it occurs. */
export const LEAST_CHARS = 8;
const PIECE_CHARS = 6;
/** As many bytes of the secret, in their encodings. */
const BASE64_CHARS = 8;
const HEX_CHARS = 12;
/** Of a text that is longer, the rest is of no use to anyone. */
const MOST_CHARS = 20_000;
/** What keys, their encodings and their masks are made of. */
const OF_TOKENS = /[\w+/=.~%*•…-]/;
const MASKS = ['**', '•', '…', '...'];
const LEAST_BESIDE_MASK = 3;
/** `proj` in `sk-proj-…`: a word that stands alone in a key says what it is for. */
const WORDS = /(?<![A-Za-z\d])[a-z]+(?![A-Za-z\d])/g;

/** Of keys in general, also of others than the one that was used. */
const PATTERNS: readonly (readonly [RegExp, string])[] = [
  [/\bsk-[\w*•…-]+/g, 'sk-…'],
  [/\bAIza[\w*-]+/g, 'AIza…'],
  [/\bya29\.[\w.*-]+/g, 'ya29.…'],
  [/\b(Bearer|Basic) +[\w+/=.~*-]{8,}/gi, '$1 …'],
  [/([?&](?:key|api[-_]?key|token|access_token)=)[^&\s"'<>]+/gi, '$1…'],
];

export type Scrub = (text: string) => string;

/** For an error of a vendor. */
export function scrubSecrets(text: string, secrets: readonly string[]): string {
  return createScrub(secrets)(text.slice(0, MOST_CHARS));
}

/** `pieceChars`: from how many characters on a piece of a secret counts. */
export function createScrub(secrets: readonly string[], pieceChars = PIECE_CHARS): Scrub {
  const keys = secrets.map((secret) => secret.trim()).filter((key) => key.length >= LEAST_CHARS);
  const pieces = piecesOf(keys, pieceChars);
  const masked = keys.flatMap(maskedForms).map(lower);
  return (text) => {
    const hidden = hideTokens(text, spansOf(lower(text), pieces, masked));
    return PATTERNS.reduce((scrubbed, [pattern, instead]) => scrubbed.replaceAll(pattern, instead), hidden);
  };
}

/** By their length. One look per character of a text finds them, however many there are. */
function piecesOf(keys: readonly string[], pieceChars: number): Map<number, Set<string>> {
  const pieces = new Map<number, Set<string>>();
  const add = (form: string, size: number, isLeftOut: (from: number) => boolean = () => false) => {
    const known = pieces.get(size) ?? new Set();
    pieces.set(size, known);
    for (let at = 0; at + size <= form.length; at += 1) {
      if (!isLeftOut(at)) known.add(lower(form.slice(at, at + size)));
    }
  };
  for (const key of keys) {
    for (const form of [key, encodeURIComponent(wellFormed(key)), JSON.stringify(key).slice(1, -1)]) {
      const words = [...form.matchAll(WORDS)].filter(([word]) => word.length < form.length);
      const isWord = (at: number) =>
        words.some(({ index, 0: word }) => index <= at && at + pieceChars <= index + word.length);
      add(form, pieceChars, isWord);
    }
    const bytes = bytesOf(key);
    add(bytes.map((byte) => byte.toString(16).padStart(2, '0')).join(''), HEX_CHARS);
    for (const core of base64Cores(bytes)) add(core, BASE64_CHARS);
  }
  return pieces;
}

function maskedForms(key: string): string[] {
  const lengths = [LEAST_BESIDE_MASK, LEAST_BESIDE_MASK + 1, LEAST_BESIDE_MASK + 2];
  return lengths.flatMap((length) =>
    MASKS.flatMap((mask) => [`${key.slice(0, length)}${mask}`, `${mask}${key.slice(-length)}`]),
  );
}

type Span = readonly [start: number, end: number];

function spansOf(text: string, pieces: Map<number, Set<string>>, masked: readonly string[]): Span[] {
  const spans: Span[] = [];
  for (const [size, known] of pieces) {
    if (known.size === 0) continue;
    for (let at = 0; at + size <= text.length; at += 1) {
      if (known.has(text.slice(at, at + size))) spans.push([at, at + size]);
    }
  }
  for (const form of masked) {
    for (let at = text.indexOf(form); at !== -1; at = text.indexOf(form, at + 1)) spans.push([at, at + form.length]);
  }
  return spans.sort(([a], [b]) => a - b);
}

/** Every token that holds one: what stands around it is part of a longer encoding, or of a mask. */
function hideTokens(text: string, spans: readonly Span[]): string {
  let hidden = '';
  let from = 0;
  for (const [found, until] of spans) {
    if (until <= from) continue;
    let [start, end] = [Math.max(found, from), until];
    while (start > from && OF_TOKENS.test(text.charAt(start - 1))) start -= 1;
    while (end < text.length && OF_TOKENS.test(text.charAt(end))) end += 1;
    // What a span leaves of the one before it belongs to that.
    hidden += start === from && hidden.endsWith(HIDDEN) ? '' : `${text.slice(from, start)}${HIDDEN}`;
    from = end;
  }
  return hidden + text.slice(from);
}

/** What is in the base64 of any text that holds the key, wherever it begins in it: without the characters of its edges. */
function base64Cores(bytes: readonly number[]): string[] {
  const cores = [0, 1, 2].map((shift) => {
    const encoded = base64([...Array.from({ length: shift }, () => 0), ...bytes]);
    const first = shift === 0 ? 0 : shift + 1;
    const last = (shift + bytes.length) % 3 === 0 ? encoded.length : encoded.length - 1;
    return encoded.slice(first, last);
  });
  return [...cores, ...cores.map((core) => core.replaceAll('+', '-').replaceAll('/', '_'))];
}

const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/** Without padding. This room knows no Buffer. */
function base64(bytes: readonly number[]): string {
  const bits = bytes.map((byte) => byte.toString(2).padStart(8, '0')).join('');
  return (bits.match(/.{1,6}/g) ?? []).map((six) => BASE64[Number.parseInt(six.padEnd(6, '0'), 2)]).join('');
}

function bytesOf(text: string): number[] {
  const encoded = encodeURIComponent(wellFormed(text)).matchAll(/%(..)|./g);
  return [...encoded].map(([one, code]) => (code === undefined ? one.charCodeAt(0) : Number.parseInt(code, 16)));
}

function wellFormed(text: string): string {
  return text.replaceAll(/\p{Surrogate}/gu, '\uFFFD');
}

/** Of the same length. */
function lower(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}
