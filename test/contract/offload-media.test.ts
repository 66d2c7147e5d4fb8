import { describe, expect, it } from 'vitest';
import type { ArtefactInfo, Artefacts } from '../../contract/artefacts.js';
import type { ContentPart } from '../../contract/messages.js';
import { offloadMedia } from '../../contract/offload-media.js';
import { INLINE_LIMIT_BYTES } from '../../contract/sizes.js';

const decode = (base64: string) => Buffer.from(base64, 'base64');
const large = Buffer.alloc(INLINE_LIMIT_BYTES, 7);

describe('media parts above the inline limit', () => {
  it('become references, and the store has their bytes and their type', async () => {
    const { store, kept } = memoryStore();
    const parts: ContentPart[] = [
      { type: 'text', text: 'see' },
      { type: 'image_url', image_url: { url: dataUrl('image/png', large), detail: 'low', media_type: 'image/png' } },
      { type: 'document', source: { data: large.toString('base64'), media_type: 'application/pdf' } },
    ];
    expect(await offloadMedia(parts, store, decode)).toEqual([
      { type: 'text', text: 'see' },
      { type: 'image_url', image_url: { url: 'artefact:id_1', detail: 'low', media_type: 'image/png' } },
      { type: 'document', source: { data: 'artefact:id_2', media_type: 'application/pdf' } },
    ]);
    expect(kept.map(({ media_type }) => media_type)).toEqual(['image/png', 'application/pdf']);
    for (const { bytes } of kept) expect(Buffer.compare(bytes, large)).toBe(0);
  });

  it('are found behind the parameters of a data URL too', async () => {
    const { store, kept } = memoryStore();
    const url = `data:image/PNG;name=rosa.png;base64,${large.toString('base64')}`;
    const [part] = await offloadMedia([{ type: 'image_url', image_url: { url } }], store, decode);
    expect(part).toEqual({ type: 'image_url', image_url: { url: 'artefact:id_1' } });
    expect(kept[0]).toMatchObject({ media_type: 'image/png', bytes: large });
  });

  it('are the same bytes where a document came as a data URL', async () => {
    const { store, kept } = memoryStore();
    for (const head of ['data:application/pdf;base64,', 'data:Application/PDF;name=a.pdf;Base64,']) {
      const source = { data: head + large.toString('base64'), media_type: 'application/pdf' as const };
      const [part] = await offloadMedia([{ type: 'document', source }], store, decode);
      expect(part).toMatchObject({ source: { data: `artefact:id_${kept.length}` } });
      const { bytes, media_type } = kept.at(-1) ?? {};
      expect([media_type, bytes?.equals(large)]).toEqual(['application/pdf', true]);
    }
  });

  it('are not written into the parts that were handed in', async () => {
    const url = dataUrl('image/png', large);
    const part: ContentPart = { type: 'image_url', image_url: { url } };
    await offloadMedia([part], memoryStore().store, decode);
    expect(part.image_url.url).toBe(url);
  });
});

describe('what stays in the message', () => {
  const small = Buffer.alloc(100, 1);

  it.each<[string, ContentPart]>([
    ['text of any length', { type: 'text', text: 'x'.repeat(INLINE_LIMIT_BYTES * 2) }],
    ['a small image', { type: 'image_url', image_url: { url: dataUrl('image/png', small) } }],
    [
      'a small document',
      { type: 'document', source: { data: small.toString('base64'), media_type: 'application/pdf' } },
    ],
    [
      'the address of an image',
      { type: 'image_url', image_url: { url: `https://example.org/${'x'.repeat(INLINE_LIMIT_BYTES)}` } },
    ],
    [
      'a data URL that is not in base64',
      { type: 'image_url', image_url: { url: `data:image/svg+xml,${'x'.repeat(INLINE_LIMIT_BYTES)};base64,` } },
    ],
    ['a reference', { type: 'image_url', image_url: { url: 'artefact:id_1' } }],
  ])('is %s', async (_what, part) => {
    const { store, kept } = memoryStore();
    expect(await offloadMedia([part], store, decode)).toEqual([part]);
    expect(kept).toEqual([]);
  });

  it('is an image of exactly the limit, and not one that is larger', async () => {
    const { store, kept } = memoryStore();
    const start = 'data:image/png;base64,';
    const exact = start + 'A'.repeat(INLINE_LIMIT_BYTES - start.length);
    const parts = [exact, `${exact}AAAA`].map((url) => ({ type: 'image_url' as const, image_url: { url } }));
    const urls = (await offloadMedia(parts, store, decode)).map((part) => part.image_url.url);
    expect(urls).toEqual([exact, 'artefact:id_1']);
    expect(kept).toHaveLength(1);
  });
});

function dataUrl(type: string, bytes: Buffer): string {
  return `data:${type};base64,${bytes.toString('base64')}`;
}

function memoryStore() {
  const kept: (ArtefactInfo & { bytes: Buffer })[] = [];
  const store: Artefacts = {
    put(content, media_type) {
      const bytes = Buffer.from(content);
      const info = { id: `id_${kept.length + 1}`, byte_size: bytes.length, media_type };
      kept.push({ ...info, bytes });
      return Promise.resolve(info);
    },
    info: (id) => Promise.resolve(kept.find((each) => each.id === id)),
    read: (id) => Promise.resolve(kept.find((each) => each.id === id)?.bytes ?? new Uint8Array()),
  };
  return { store, kept };
}
