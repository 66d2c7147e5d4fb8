/** From the bytes of a terminal to a text: keys, pastes, editing, and what was entered before. */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createKeyDecoder } from '../../cli/keyboard/decode-keys.js';
import { edit } from '../../cli/keyboard/edit-text.js';
import type { Editing } from '../../cli/keyboard/edit-text.js';
import { createHistory } from '../../cli/keyboard/history.js';
import { historyPath, openHistoryFile } from '../../cli/keyboard/history-file.js';
import { testFolder } from './command.js';

/** Keys as one word each: texts in quotes, what is held before the name. */
const keysOf = (...chunks: string[]) => {
  const decoder = createKeyDecoder();
  const keys = [...chunks.flatMap((chunk) => decoder.push(chunk)), ...decoder.flush()];
  return keys.map(({ name, ctrl, meta, text, isLate }) => {
    const what = name === 'text' ? `"${text}"` : name === 'paste' ? `paste "${text}"` : name;
    return `${ctrl ? 'ctrl-' : ''}${meta ? 'alt-' : ''}${what}${isLate ? ' late' : ''}`;
  });
};

/** `|` is the cursor. */
const typed = (start: string, keys: string): string => {
  const [before = '', after = ''] = start.split('|');
  let now: Editing = { before, after, cut: '' };
  for (const key of createKeyDecoder().push(keys)) now = edit(now, key) ?? now;
  return `${now.before}|${now.after}`;
};

describe('what a terminal sends', () => {
  it('is decoded to keys', () => {
    expect(keysOf('a漢\r')).toEqual(['"a漢"', 'enter']);
    expect(keysOf('\x1b[A\x1bOB\x1b[1;5C\x1b[1;3D\x1b[3~\x1b[H\x1b[4~')).toEqual(
      'up down ctrl-right alt-left delete home end'.split(' '),
    );
    expect(keysOf('\x01\x0b\x7f\x1b\x7f\x1bf\x1b\r')).toEqual(
      'ctrl-a ctrl-k backspace alt-backspace alt-"f" alt-enter'.split(' '),
    );
    expect(keysOf('\x1b[?1;2c', '\x1b[I', '\x1b\x1b[A')).toEqual(['unknown', 'unknown', 'escape', 'up']);
  });

  it('is put together again where it was cut, and a lone Escape is one', () => {
    expect(keysOf('a\x1b', '[', '1;', '5C', 'b')).toEqual(['"a"', 'ctrl-right', '"b"']);
    expect(keysOf('\x1b')).toEqual(['escape']);
    fc.assert(
      fc.property(fc.nat({ max: 40 }), fc.nat({ max: 40 }), (one, two) => {
        const sent = 'x\x1b[200~a\nb\r\n\x1b[A\x1b[20c\x1b[201~\x1b[1;5Dy';
        const [first, second] = [Math.min(one, two), Math.max(one, two)];
        const cut = [sent.slice(0, first), sent.slice(first, second), sent.slice(second)];
        expect(
          keysOf(...cut)
            .join('')
            .replaceAll('""', ''),
        ).toBe('"x"paste "a\nb\n\x1b[A\x1b[20c"ctrl-left"y"');
      }),
    );
  });

  it('is one paste where the terminal says so, or lines come in one chunk; an Enter behind it may be late', () => {
    expect(keysOf('\x1b[200~one\r\ntwo\n\x1b[201~\r')).toEqual(['paste "one\ntwo\n"', 'enter late']);
    expect(keysOf('one\rtwo\nthree')).toEqual(['paste "one\ntwo\nthree"']);
    expect(keysOf('one\r\ntwo\r')).toEqual(['paste "one\ntwo"', 'enter late']);
    expect(keysOf('one\r\r\rtwo')).toEqual(['paste "one\n\n\ntwo"']);
    // Two that are typed fast: the first one ends what stood there before.
    expect(keysOf('\rnext')).toEqual(['enter', '"next"']);
    expect(keysOf('one\r', 'two\r')).toEqual(['"one"', 'enter', '"two"', 'enter']);
    expect(keysOf('bye\r\x04')).toEqual(['"bye"', 'enter', 'ctrl-d']);
  });
});

describe('editing', () => {
  it.each([
    ['letters, also of several parts', 'a|c', 'b🧑‍🌾\x7f', 'ab|c'],
    ['to the ends of the line', 'one two|', '\x01x\x05y', 'xone twoy|'],
    ['Ctrl-K and Ctrl-Y', 'one |two', '\x0b\x01\x19', 'two|one '],
    ['Ctrl-U', 'one |two', '\x15', '|two'],
    ['Ctrl-W and Alt-Backspace', 'cd /usr/local|', '\x17', 'cd |'],
    ['Alt-Backspace', 'cd /usr/local|', '\x1b\x7f', 'cd /usr/|'],
    ['Alt-D', 'one| two three', '\x1bd', 'one| three'],
    ['words with Alt-B and Alt-F', 'one two| three', '\x1bb\x1bb\x1bfX', 'oneX| two three'],
    ['words with Ctrl and Alt and arrows', 'one two|', '\x1b[1;5D\x1b[1;3DX', 'X|one two'],
    ['Delete and Ctrl-D', 'a|bcd', '\x1b[3~\x04', 'a|d'],
    ['Alt-Enter', 'one|', '\x1b\rtwo', 'one\ntwo|'],
    ['up and down in several lines', 'one\ntwo\nx|', '\x1b[A\x1b[AX\x1b[BY', 'oXne\ntwY|o\nx'],
    ['home and end in several lines', 'one\ntw|o', '\x01X\x05Y', 'one\nXtwoY|'],
    ['Ctrl-U at the start of a line', 'one\n|two', '\x15', 'one|two'],
    ['control characters of a paste', '|', '\x1b[200~a\x1b[31mb\tc\x07\x1b[201~', 'a[31mb    c|'],
    ['keys without meaning', 'a|b', '\x1b[I\x1bq\x0c', 'a|b'],
  ])('%s', (_what, start, keys, end) => {
    expect(typed(start, keys)).toBe(end);
  });

  it('is quick with a long text', () => {
    const text = 'é '.repeat(100_000);
    const began = performance.now();
    typed(`${text}|${text}`, '\x7f\x1b[D\x1b[C\x17\x1bb\x1bf\x15\x0b');
    // What goes over all of the text for each letter takes minutes.
    expect(performance.now() - began).toBeLessThan(20_000);
  });
});

describe('what was entered before', () => {
  it('comes back by the arrows, and the line that is being written after it', () => {
    const history = createHistory(['one']);
    history.add('two');
    history.add('two');
    history.add('  ');
    expect(history.previous('draft')).toBe('two');
    expect(history.previous('two')).toBe('one');
    expect(history.previous('one')).toBeUndefined();
    expect([history.next(), history.next(), history.next()]).toEqual(['two', 'draft', undefined]);
  });

  it('is in a file of the state folder that only its owner can read', () => {
    const folder = testFolder();
    const path = historyPath({ XDG_STATE_HOME: folder });
    expect(path).toBe(join(folder, 'perdure/chat-history'));
    expect(historyPath({ XDG_STATE_HOME: 'relative' })).toMatch(/\/\.local\/state\/perdure\/chat-history$/);
    const fail = (error: unknown) => {
      throw error;
    };
    openHistoryFile(path, fail).add('one\nin two lines');
    expect(statSync(path).mode & 0o777).toBe(0o600);
    writeFileSync(path, `${readFileSync(path, 'utf8')}{"cut\n`);
    const again = openHistoryFile(path, fail);
    again.add('two');
    expect(openHistoryFile(path, fail).previous('')).toBe('two');
    expect(again.previous('')).toBe('two');
    expect(again.previous('')).toBe('one\nin two lines');
  });

  it('does without where there can be no file, and says so once', () => {
    const folder = testFolder();
    writeFileSync(join(folder, 'perdure'), 'in the way');
    const failures: unknown[] = [];
    const history = openHistoryFile(historyPath({ XDG_STATE_HOME: folder }), (error) => void failures.push(error));
    history.add('one');
    history.add('two');
    expect(failures).toHaveLength(1);
    expect(history.previous('')).toBe('two');
  });
});
