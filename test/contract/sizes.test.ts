import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { makePage } from '../../contract/pages.js';
import { EXTERNAL_STORAGE_THRESHOLD_BYTES, PAGE_CHARS, utf8Bytes } from '../../contract/sizes.js';
import { anyText } from './any-text.js';

describe('utf8Bytes', () => {
  it('counts what Node would write, for any string, lone surrogates included', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(utf8Bytes(text)).toBe(Buffer.byteLength(text, 'utf8'));
      }),
    );
  });

  it.each([
    ['', 0],
    ['a', 1],
    ['é', 2],
    ['€', 3],
    ['😀', 4],
    ['\ud83d', 3],
    ['\ud83dé', 5],
    ['\ud83d\ud83d\ude00', 7],
    ['\ude00\ud83d', 6],
  ])('counts %j as %i bytes', (text, bytes) => {
    expect(utf8Bytes(text)).toBe(bytes);
  });
});

describe('a page', () => {
  it.each([
    ['of text that takes the most bytes', '€'.repeat(PAGE_CHARS * 2)],
    ['of text that takes the most escapes', '"\\'.repeat(PAGE_CHARS)],
  ])('%s stays below the threshold of external storage', (_what, text) => {
    const page = makePage(1, () => text, { from: 0 });
    expect(page.next).toEqual({ from: 0, offset: PAGE_CHARS });
    expect(Buffer.byteLength(JSON.stringify(page))).toBeLessThan(EXTERNAL_STORAGE_THRESHOLD_BYTES);
  });

  it('of many small events stays below the threshold of external storage', () => {
    const event = JSON.stringify({ type: 'tool_scheduled', seq: 1, event_id: 'r:1', at: '2026-03-14T09:26:53.000Z' });
    const page = makePage(10_000, () => event, { from: 0 });
    expect(page.slices.length).toBeGreaterThan(100);
    expect(Buffer.byteLength(JSON.stringify(page))).toBeLessThan(EXTERNAL_STORAGE_THRESHOLD_BYTES);
  });
});
