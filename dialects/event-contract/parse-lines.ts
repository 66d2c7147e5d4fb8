/**
 * A stream of bytes or text, cut anywhere, into the objects of its lines. Nothing is thrown: a line that is no JSON
 * object is given back as broken. Written out since neither Node nor the DOM is in sight here.
 */
export type ParsedLine = { object: Readonly<Record<string, unknown>> } | { broken: string; reason: string };

export interface LineParser {
  push(chunk: string | Uint8Array): ParsedLine[];
  /** The stream is over: what is left is a line too. */
  end(): ParsedLine[];
}

/** A stream without line ends must not fill the memory. */
const LONGEST_LINE = 16 * 1024 * 1024;
const SHOWN_OF_A_BROKEN_LINE = 200;

export function createLineParser(longest = LONGEST_LINE): LineParser {
  let text: string[] = [];
  let bytes: Uint8Array[] = [];
  let length = 0;
  let skipping = false;

  return {
    push(chunk) {
      const parsed: ParsedLine[] = [];
      let from = 0;
      for (let end = endOfLine(chunk, 0); end !== -1; end = endOfLine(chunk, from)) {
        keep(chunk, from, end);
        parsed.push(...takeLine());
        from = end + 1;
      }
      keep(chunk, from, chunk.length);
      return parsed;
    },
    end: takeLine,
  };

  function keep(chunk: string | Uint8Array, from: number, to: number): void {
    length += to - from;
    if (length > longest) skipping = true;
    else if (typeof chunk !== 'string') bytes.push(chunk.slice(from, to));
    else {
      flushBytes();
      text.push(chunk.slice(from, to));
    }
  }

  function takeLine(): ParsedLine[] {
    flushBytes();
    const line = text.join('');
    const tooLong = skipping;
    [text, length, skipping] = [[], 0, false];
    if (tooLong) return [broken(line, `it is longer than ${longest}`)];
    return line.trim() === '' ? [] : [parseLine(line)];
  }

  function flushBytes(): void {
    if (bytes.length > 0) text.push(decodeUtf8(bytes));
    bytes = [];
  }
}

function endOfLine(chunk: string | Uint8Array, from: number): number {
  return typeof chunk === 'string' ? chunk.indexOf('\n', from) : chunk.indexOf(0x0a, from);
}

function parseLine(line: string): ParsedLine {
  try {
    // A byte order mark is white space to `trim`, and nothing that JSON knows.
    const object: unknown = JSON.parse(line.trim());
    if (typeof object === 'object' && object !== null && !Array.isArray(object)) {
      return { object: object as Record<string, unknown> };
    }
    return broken(line, 'it is no JSON object');
  } catch {
    return broken(line, 'it is no JSON');
  }
}

function broken(line: string, reason: string): ParsedLine {
  return { broken: line.slice(0, SHOWN_OF_A_BROKEN_LINE), reason };
}

/** Whole lines only: a character is never cut, since no byte of one is a line end. Bad bytes become U+FFFD. */
function decodeUtf8(parts: readonly Uint8Array[]): string {
  const units: string[] = [];
  let point = 0;
  let missing = 0;
  let least = 0;
  const put = (value: number) => units.push(String.fromCodePoint(value));
  for (const part of parts) {
    for (const byte of part) {
      if (missing > 0 && (byte & 0xc0) === 0x80) {
        point = (point << 6) | (byte & 0x3f);
        missing -= 1;
        const isValid = point >= least && point <= 0x10ffff && (point < 0xd800 || point > 0xdfff);
        if (missing === 0) put(isValid ? point : 0xfffd);
        continue;
      }
      if (missing > 0) put(0xfffd);
      missing = 0;
      if (byte < 0x80) put(byte);
      else if (byte >= 0xc2 && byte <= 0xdf) [point, missing, least] = [byte & 0x1f, 1, 0x80];
      else if (byte >= 0xe0 && byte <= 0xef) [point, missing, least] = [byte & 0x0f, 2, 0x800];
      else if (byte >= 0xf0 && byte <= 0xf4) [point, missing, least] = [byte & 0x07, 3, 0x10000];
      else put(0xfffd);
    }
  }
  if (missing > 0) put(0xfffd);
  return units.join('');
}
