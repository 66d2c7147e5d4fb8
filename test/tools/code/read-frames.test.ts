/** What a sandbox sends may be anything: it is read with limits, whatever it claims. */
import { describe, expect, it } from 'vitest';
import { createFrameReader } from '../../../tools/code/read-frames.js';

const END = {
  why: null,
  exit: 0,
  signal: null,
  cpu: 0,
  printed: 0,
  skipped: [],
  file_count: 0,
  file_bytes: 0,
  trouble: '',
};

function frame(kind: string, body: Buffer | string, length = Buffer.byteLength(body)): Buffer {
  const header = Buffer.alloc(5, kind);
  header.writeUInt32BE(length, 1);
  return Buffer.concat([header, Buffer.from(body)]);
}

function file(name: string, content: string): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(Buffer.byteLength(name));
  return frame('F', Buffer.concat([length, Buffer.from(name), Buffer.from(content)]));
}

function reader() {
  const seen: unknown[] = [];
  const read = createFrameReader(
    { output_bytes: 10, files: 2, file_bytes: 10 },
    {
      output: (bytes) => void seen.push(bytes.toString()),
      file: ({ filename, content }) => void seen.push([filename, Buffer.from(content).toString()]),
      end: (end) => void seen.push(end),
    },
  );
  return { seen, read };
}

describe('frames', () => {
  it('are put together however they are cut', () => {
    const all = Buffer.concat([
      frame('O', 'hello'),
      file('a/b.txt', 'xyz'),
      frame('O', ''),
      frame('E', JSON.stringify(END)),
    ]);
    for (const size of [1, 2, 7, all.length]) {
      const { seen, read } = reader();
      for (let at = 0; at < all.length; at += size) read(all.subarray(at, at + size));
      expect(seen).toEqual(['hello', ['a_b.txt', 'xyz'], '', END]);
    }
  });

  it.each([
    ['an unknown kind', frame('X', 'x')],
    ['more output than is kept', Buffer.concat([frame('O', 'x'.repeat(10)), frame('O', 'x')])],
    ['a length that no one will send', frame('O', '', 0xffffffff)],
    ['a file of a length that no one will send', frame('F', '', 0xffffffff)],
    ['more files than may come', Buffer.concat([file('a', ''), file('b', ''), file('c', '')])],
    ['files that are too large together', Buffer.concat([file('a', '123456'), file('b', '12345')])],
    ['a name that is longer than its frame', frame('F', Buffer.from([0xff, 0xff, 1]))],
    ['an end that is none', frame('E', '{}')],
    ['an end that is no JSON', frame('E', '{')],
  ])('are refused: %s', (_what, bytes) => {
    expect(() => reader().read(bytes)).toThrow();
  });

  it.each([
    ['../../etc/passwd', 'etc_passwd'],
    ['/abs//./x', 'abs_x'],
    ['-rf \u202egpj.exe', 'rf gpj.exe'],
    ['a\u0000b\nc', 'a_b_c'],
    ['..', 'file'],
    ['', 'file'],
  ])('name a file %j as %j', (given, expected) => {
    const { seen, read } = reader();
    read(file(given, ''));
    expect(seen).toEqual([[expected, '']]);
  });
});
