import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { makePage, readPages } from '../../contract/pages.js';
import type { Page, PageRequest } from '../../contract/pages.js';
import { anyText } from './any-text.js';

const size = vi.hoisted(() => ({ page: 0 }));
vi.mock('../../contract/sizes.js', () => ({
  get PAGE_CHARS() {
    return size.page;
  },
  get LARGE_PAGE_BYTES() {
    return size.page;
  },
}));

const items = fc.array(anyText, { maxLength: 20 });
const budget = fc.integer({ min: 1, max: 30 });

describe('reading page by page', () => {
  it('gives every item its own text, whatever the items and the size of a page', async () => {
    await fc.assert(
      fc.asyncProperty(items, budget, async (texts, page) => {
        const { read } = reader(texts, page);
        const all = await collect(readPages(read, 0));
        expect(all.map(({ text }) => text)).toEqual(texts);
        expect(all.map(({ index }) => index)).toEqual(texts.map((_text, index) => index));
      }),
    );
  });

  it('begins at any item, counted from the start or, when negative, from the end', async () => {
    await fc.assert(
      fc.asyncProperty(items, budget, fc.integer({ min: -25, max: 25 }), async (texts, page, from) => {
        const { read } = reader(texts, page);
        const all = await collect(readPages(read, from));
        expect(all.map(({ text }) => text)).toEqual(texts.slice(from));
        expect(all.map(({ index }) => index)).toEqual(texts.map((_text, index) => index).slice(from));
      }),
    );
  });

  it('stops before `until`, and asks for no page beyond it', async () => {
    await fc.assert(
      fc.asyncProperty(items, budget, fc.nat(25), fc.nat(25), async (texts, page, from, until) => {
        const { read, requests } = reader(texts, page);
        const all = await collect(readPages(read, from, until));
        expect(all.map(({ text }) => text)).toEqual(texts.slice(from, Math.max(from, until)));
        for (const request of requests.slice(1)) expect(request.from).toBeLessThan(until);
      }),
    );
  });

  it('never reads more than a page at once, and cuts only what does not fit into one', async () => {
    await fc.assert(
      fc.asyncProperty(items, budget, async (texts, page) => {
        const { read, pages } = reader(texts, page);
        await collect(readPages(read, 0));
        for (const { slices } of pages) {
          expect(slices.reduce((sum, { text }) => sum + text.length, 0)).toBeLessThanOrEqual(page);
          const cut = slices.filter(({ text, total }) => text.length < total);
          for (const { total } of cut) expect(total).toBeGreaterThan(page);
        }
      }),
    );
  });

  it('never reads more bytes than a large page may have, as it is encoded, and wastes little of it', async () => {
    const hard = fc.array(
      fc.oneof(anyText, fc.constantFrom('"\\\u0001\n', '😀'.repeat(40), '\ud83d', 'x'.repeat(300), '')),
    );
    await fc.assert(
      fc.asyncProperty(hard, fc.integer({ min: 200, max: 600 }), async (texts, page) => {
        const { read, pages } = reader(texts, page);
        const all = await collect(readPages((request) => read({ ...request, large: true }), 0));
        expect(all.map(({ text }) => text)).toEqual(texts);
        for (const { slices } of pages) {
          const encoded = slices.reduce((sum, slice) => sum + Buffer.byteLength(JSON.stringify(slice)), 0);
          expect(encoded).toBeLessThanOrEqual(page);
        }
      }),
    );
    const { read, pages } = reader(
      Array.from({ length: 10 }, () => 'x'.repeat(1_000)),
      1_500,
    );
    await collect(readPages((request) => read({ ...request, large: true }), 0));
    expect(pages).toHaveLength(8);
  });

  it('reads an item of many pages in slices, each where the last one ended', async () => {
    const text = 'abcdefghij'.repeat(3);
    const { read, requests } = reader(['first', text, 'last'], 8);
    expect((await collect(readPages(read, 0))).map((item) => item.text)).toEqual(['first', text, 'last']);
    expect(requests).toEqual([
      { from: 0 },
      { from: 1, offset: 0 },
      { from: 1, offset: 8 },
      { from: 1, offset: 16 },
      { from: 1, offset: 24 },
      { from: 2, offset: 0 },
    ]);
  });

  it('reads on to the tail as it is when the last page is made, from where a negative start began', async () => {
    const texts = ['one', 'two', 'three'];
    const { read } = reader(texts, 5);
    const seen: string[] = [];
    for await (const { text } of readPages(read, -2)) {
      seen.push(text);
      if (text === 'two') texts.push('four');
    }
    expect(seen).toEqual(['two', 'three', 'four']);
  });

  it('says how many items there are, also when there is nothing to read', async () => {
    const { read } = reader(['one', 'two'], 100);
    expect(await read({ from: 7 })).toEqual({ slices: [], tail: 2 });
    expect(await read({ from: 1 })).toEqual({ slices: [{ index: 1, offset: 0, text: 'two', total: 3 }], tail: 2 });
  });
});

/** A workflow that answers the query; what it answers crosses the wire as JSON. */
function reader(texts: readonly string[], pageSize: number) {
  const requests: PageRequest[] = [];
  const pages: Page[] = [];
  const read = (request: PageRequest): Promise<Page> => {
    size.page = pageSize;
    requests.push(request);
    const page = makePage(texts.length, (index) => texts[index] as string, request);
    pages.push(page);
    return Promise.resolve(JSON.parse(JSON.stringify(page)) as Page);
  };
  return { read, requests, pages };
}

async function collect<T>(all: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = [];
  for await (const item of all) collected.push(item);
  return collected;
}
