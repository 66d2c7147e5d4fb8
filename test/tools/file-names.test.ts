import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { cleanFile } from '../../tools/file-names.js';

const nameOf = (name: string) => cleanFile(name, '').filename;
const typeOf = (type: string) => cleanFile('a', type).mime_type;

const PIECES = [
  ...Array.from('./\\- \u0000\n\r\t\u202e\u2066\u200f\u061c\u2028\ud800<>:"|?*\u0338é漢🙂'),
  '..',
  'con',
  'NUL',
  'lpt1',
  '.txt',
  'x'.repeat(300),
];

/** Of what names are attacked with, and of anything. */
const hostile = fc
  .array(fc.oneof(fc.string({ unit: 'binary', maxLength: 8 }), fc.constantFrom(...PIECES)), { maxLength: 12 })
  .map((pieces) => pieces.join(''));

describe('a file’s name', () => {
  it.each([
    ['report.pdf', 'report.pdf'],
    ['Übersicht 2024 (neu).xlsx', 'Übersicht 2024 (neu).xlsx'],
    ['../../etc/passwd', 'etc_passwd'],
    ['C:\\Windows\\system.ini', 'C__Windows_system.ini'],
    ['data/deep/table.csv', 'data_deep_table.csv'],
    ['invoice\u202efdp.exe', 'invoicefdp.exe'],
    ['.bashrc', 'bashrc'],
    ['--help', 'help'],
    ['a\r\nb.txt', 'a__b.txt'],
    ['CON', '_CON'],
    ['nul.txt', '_nul.txt'],
    ['trailing. ', 'trailing'],
    ['e\u0301.txt', 'é.txt'],
    ['...', 'file'],
    ['/', 'file'],
    ['', 'file'],
    [`${'n'.repeat(400)}.csv`, `${'n'.repeat(251)}.csv`],
  ])('%j is %j', (given, name) => {
    expect(nameOf(given)).toBe(name);
  });

  it('is one segment that any file system takes, and reads as what it is, whatever it was', () => {
    fc.assert(
      fc.property(hostile, (given) => {
        const name = nameOf(given);
        expect(name).not.toBe('');
        expect(Buffer.byteLength(name)).toBeLessThanOrEqual(255);
        expect(name).not.toMatch(/[/\\<>:"|?*]|[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
        expect(name).not.toMatch(/^[\s.-]|[\s.]$/);
        expect(name).not.toMatch(/^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i);
        expect(name.normalize('NFC')).toBe(name);
        // Cleaned once is enough.
        expect(nameOf(name)).toBe(name);
      }),
      { numRuns: 2_000 },
    );
  });

  it('is cleaned in no time, however it is made', () => {
    const began = performance.now();
    for (const piece of ['.', ' ', '?', '\u202e', '/', '\n']) nameOf(`a${piece.repeat(1_000_000)}b`);
    // What goes back for each character takes an hour.
    expect(performance.now() - began).toBeLessThan(20_000);
  });
});

describe('a file’s media type', () => {
  it.each([
    ['text/plain', 'text/plain'],
    ['Text/Plain; charset=UTF-8', 'text/plain'],
    [' image/svg+xml ', 'image/svg+xml'],
    ['application/vnd.ms-excel.sheet.macroEnabled.12', 'application/vnd.ms-excel.sheet.macroenabled.12'],
    ['text', 'application/octet-stream'],
    ['text/plain\r\nx: y', 'application/octet-stream'],
    ['text/html, text/plain', 'application/octet-stream'],
    ['', 'application/octet-stream'],
  ])('%j is %j', (given, type) => {
    expect(typeOf(given)).toBe(type);
  });

  it('is a pair of tokens, whatever it was', () => {
    fc.assert(
      fc.property(fc.oneof(hostile, fc.mixedCase(fc.constant('text/plain;a=b'))), (given) => {
        const type = typeOf(given);
        expect(type).toMatch(/^[a-z0-9][a-z0-9!#$&^_.+-]*\/[a-z0-9][a-z0-9!#$&^_.+-]*$/);
        expect(typeOf(type)).toBe(type);
      }),
    );
  });
});
