import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { makePage } from '../../contract/pages.js';
import {
  cutText,
  EXTERNAL_STORAGE_THRESHOLD_BYTES,
  oversized,
  PAGE_CHARS,
  TEXT_LIMITS,
  utf8Bytes,
} from '../../contract/sizes.js';
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

describe('the table of what a caller may say', () => {
  it.each(Object.entries(TEXT_LIMITS))('%s may have %d bytes, and not one more', (field, limit) => {
    const isOutputs = field === 'results' || field === 'tool_results';
    // As JSON a list of one text has four more characters.
    const of = (bytes: number) =>
      isOutputs ? [{ tool_call_id: 'x', output: 'x'.repeat(bytes - 4) }] : 'x'.repeat(bytes);
    expect(oversized({ [field]: of(limit) })).toBeUndefined();
    expect(oversized({ [field]: of(limit + 1) })).toEqual({
      field,
      message: `has ${limit + 1} bytes; at most ${limit} can be taken`,
    });
  });

  it('measures what is no text by its JSON, however deep it is', () => {
    expect(oversized({ metadata: { text: 'x'.repeat(TEXT_LIMITS.metadata) } })?.field).toBe('metadata');
    let deep: unknown = 'bottom';
    for (let n = 0; n < 100_000; n++) deep = [deep];
    expect(oversized({ metadata: deep })?.field).toBe('metadata');
  });

  it.each([undefined, null, 'text', 7, [], {}, { note: null }])('takes %j', (given) => {
    expect(oversized(given)).toBeUndefined();
  });
});

describe('cutText', () => {
  it('gives what fits, and never half a character', () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 3, max: 60 }), (text, limit) => {
        const cut = cutText(text, limit);
        expect(utf8Bytes(cut)).toBeLessThanOrEqual(limit);
        if (utf8Bytes(text) <= limit) expect(cut).toBe(text);
        else expect(cut.endsWith('…') && text.startsWith(cut.slice(0, -1))).toBe(true);
      }),
    );
    expect(cutText('😀😀😀', 9)).toBe('😀…');
  });
});
