/**
 * From what a terminal sends to keys.
 *
 * K1  What is pasted is one key, with its line breaks: told by the terminal (bracketed paste), or by lines that come in
 *     one chunk. No line of it is taken for an Enter.
 * K2  A sequence that is cut between two chunks is decoded when its rest comes; a lone Escape when none does.
 */

export interface Key {
  /** `text` and `paste` have a text; the others are named, single letters for those with Ctrl or Alt. */
  name: string;
  ctrl: boolean;
  meta: boolean;
  text: string;
  /** An Enter at the end of several lines: more of them may be on their way. */
  isLate?: true;
}

export interface KeyDecoder {
  push(chunk: string): Key[];
  /** What is held back, where nothing more came. */
  flush(): Key[];
}

const [PASTE_START, PASTE_END] = ['\x1b[200~', '\x1b[201~'];
// oxlint-disable-next-line no-control-regex -- they are what a terminal sends
const TOKEN = /^(?:\x1b\[[0-?]*[ -/]*[@-~]|\x1bO[A-Za-z]|\x1b[^\x1b[O]|[\x00-\x1f\x7f]|[^\x00-\x1f\x7f]+)/;
// oxlint-disable-next-line no-control-regex -- see above
const CUT = /^\x1b(?:O|\[[0-?]*[ -/]*)?$/;

const BY_LETTER: Record<string, string> = { A: 'up', B: 'down', C: 'right', D: 'left', H: 'home', F: 'end' };
const BY_NUMBER: Record<string, string> = { 1: 'home', 3: 'delete', 4: 'end', 7: 'home', 8: 'end' };
const [ALT, CTRL] = [2, 4];

const named = (name: string, ctrl = false, meta = false): Key => ({ name, ctrl, meta, text: '' });
const written = (name: 'text' | 'paste', text: string): Key => ({ name, ctrl: false, meta: false, text });

export function createKeyDecoder(): KeyDecoder {
  let rest = '';
  /** Of a paste whose end has not come. */
  let pasted: string | undefined;

  function decode(): Key[] {
    const keys: Key[] = [];
    while (rest !== '') {
      if (pasted !== undefined) {
        const end = rest.indexOf(PASTE_END);
        if (end === -1) return keepPasting(keys);
        keys.push(written('paste', lineBreaks(pasted + rest.slice(0, end))));
        pasted = undefined;
        rest = rest.slice(end + PASTE_END.length);
      } else if (rest.startsWith(PASTE_START)) {
        pasted = '';
        rest = rest.slice(PASTE_START.length);
      } else {
        if (CUT.test(rest)) return keys;
        // An Escape before another sequence says nothing.
        const token = TOKEN.exec(rest)?.[0] ?? rest.slice(0, 1);
        rest = rest.slice(token.length);
        keys.push(keyOf(token));
      }
    }
    return keys;
  }

  /** The end may be cut in two as well. */
  function keepPasting(keys: Key[]): Key[] {
    const held = longestStartAtEnd(rest, PASTE_END);
    pasted = `${pasted ?? ''}${rest.slice(0, rest.length - held)}`;
    rest = rest.slice(rest.length - held);
    return keys;
  }

  return {
    push(chunk) {
      rest += pasted === undefined ? chunk.replaceAll('\r\n', '\r') : chunk;
      return together(decode());
    },
    flush() {
      if (pasted !== undefined || rest === '') return [];
      rest = '';
      return [named('escape')];
    },
  };
}

function keyOf(token: string): Key {
  if (token.startsWith('\x1b[') || token.startsWith('\x1bO')) return sequence(token);
  if (token.startsWith('\x1b') && token.length > 1) return { ...keyOf(token.slice(1)), meta: true };
  switch (token) {
    case '\r':
    case '\n':
      return named('enter');
    case '\x7f':
    case '\b':
      return named('backspace');
    case '\t':
      return written('text', '    ');
    case '\x1b':
      return named('escape');
    default: {
      const code = token.charCodeAt(0);
      if (code < 0x20) return named(String.fromCharCode(code + 0x60), true);
      return written('text', token);
    }
  }
}

function sequence(token: string): Key {
  const [, numbers = '', final = ''] = /([\d;]*)([A-Za-z~])$/.exec(token) ?? [];
  const [number = '', modifiers = '1'] = numbers.split(';');
  const held = Number(modifiers) - 1;
  const name = final === '~' ? BY_NUMBER[number] : BY_LETTER[final];
  return named(name ?? 'unknown', (held & CTRL) !== 0, (held & ALT) !== 0);
}

/** Lines that come in one chunk belong together: an Enter between two texts is part of them. */
function together(keys: Key[]): Key[] {
  const isText = ({ name, meta }: Key) => name === 'text' && !meta;
  const isEnter = ({ name, meta }: Key) => name === 'enter' && !meta;
  const lastText = keys.findLastIndex(isText);
  const joined: Key[] = [];
  for (const [index, key] of keys.entries()) {
    const before = joined.at(-1);
    const goesOn = before !== undefined && (isText(before) || before.name === 'paste');
    if (goesOn && isEnter(key) && index < lastText) joined.splice(-1, 1, written('paste', `${before.text}\n`));
    else if (isText(key) && before?.name === 'paste') joined.splice(-1, 1, written('paste', before.text + key.text));
    else if (isEnter(key) && before?.name === 'paste' && before.text.includes('\n'))
      joined.push({ ...key, isLate: true });
    else joined.push(key);
  }
  return joined;
}

function lineBreaks(text: string): string {
  return text.replaceAll(/\r\n?/g, '\n');
}

/** How much of the end of a text is the beginning of another one. */
function longestStartAtEnd(text: string, start: string): number {
  for (let length = Math.min(start.length - 1, text.length); length > 0; length--) {
    if (text.endsWith(start.slice(0, length))) return length;
  }
  return 0;
}
