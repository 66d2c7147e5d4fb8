import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { fileIdOf } from '../../contract/artefacts.js';
import type { Artefacts, ArtefactStore } from '../../contract/artefacts.js';
import { newKey, onAllStorages } from './storages.js';
import type { Place } from './storages.js';

const SCOPE = 'run_1';
const PIECE = 256 * 1024;

onAllStorages('the artefact store', (fresh) => {
  let place: Place;
  let store: ArtefactStore;
  let artefacts: Artefacts;

  beforeEach(async () => {
    place = await fresh();
    store = (await place.open()).artefacts;
    artefacts = store.of(SCOPE);
  });

  it('gives back the bytes that were put, with their size and type', async () => {
    const bytes = Uint8Array.from({ length: 256 }, (_item, i) => i);
    const info = await artefacts.put(bytes, 'application/octet-stream');
    expect(info).toMatchObject({ byte_size: 256, media_type: 'application/octet-stream' });
    expect(await artefacts.info(info.id)).toEqual(info);
    expect([...(await artefacts.read(info.id))]).toEqual([...bytes]);
  });

  it('keeps text as UTF-8, and counts its bytes', async () => {
    const { id, byte_size } = await artefacts.put('h€llo 😀', 'text/plain');
    expect(byte_size).toBe(12);
    expect(text(await artefacts.read(id))).toBe('h€llo 😀');
  });

  it('keeps nothing as well as something', async () => {
    const { id, byte_size } = await artefacts.put('', 'text/plain');
    expect(byte_size).toBe(0);
    expect(await artefacts.read(id)).toHaveLength(0);
  });

  it('has one copy of what was put twice, and nothing unfinished', async () => {
    const first = await artefacts.put('the same', 'text/plain');
    const names = await place.names();
    const kept = await Promise.all(names.map(place.bytesOf));
    const second = await (await place.open()).artefacts.of(SCOPE).put(Buffer.from('the same'), 'text/plain');
    expect(second).toEqual(first);
    expect(await place.names()).toEqual(names);
    expect(names).toHaveLength(2);
    expect(await Promise.all(names.map(place.bytesOf))).toEqual(kept);
  });

  it('has ids that tell nobody whether a content that they guess is there', async () => {
    const { id } = await artefacts.put('yes', 'text/plain');
    const digest = createHash('sha256').update(`${SCOPE}\nyes`).digest('hex');
    expect(id).toMatch(/^art_[0-9a-f]{64}$/);
    expect(id).not.toBe(`art_${digest}`);
    const elsewhere = (await (await fresh()).open()).artefacts.of(SCOPE);
    expect((await elsewhere.put('yes', 'text/plain')).id).not.toBe(id);
  });

  it('takes the same content from many at once, and each gets a whole artefact', async () => {
    const content = 'x'.repeat(300_000);
    const read = async () => {
      const other = (await place.open()).artefacts.of(SCOPE);
      const { id } = await other.put(content, 'text/plain');
      return text(await other.read(id));
    };
    const texts = await Promise.all(Array.from({ length: 10 }, read));
    expect(texts.every((each) => each === content)).toBe(true);
    expect(await place.names()).toHaveLength(2);
  });

  it('finishes what a crash left half done: the content without its description', async () => {
    const info = await artefacts.put('whole', 'text/plain');
    await place.remove(await descriptionOf(place));
    expect(await artefacts.info(info.id)).toBeUndefined();
    await artefacts.put('whole', 'text/plain');
    expect(await artefacts.info(info.id)).toEqual(info);
    expect(text(await artefacts.read(info.id))).toBe('whole');
  });

  describe('a range', () => {
    it('is what slicing the bytes would give, for any start and end', async () => {
      const bytes = Uint8Array.from({ length: 50 }, (_item, i) => i);
      const { id } = await artefacts.put(bytes, 'application/octet-stream');
      const edge = fc.option(fc.nat(60), { nil: undefined });
      await fc.assert(
        fc.asyncProperty(edge, edge, async (start, end) => {
          expect(Buffer.compare(await artefacts.read(id, start, end), bytes.subarray(start ?? 0, end))).toBe(0);
        }),
        { numRuns: 40 },
      );
    });

    it('goes over the pieces of a large one', async () => {
      const bytes = Uint8Array.from({ length: 3 * PIECE + 17 }, (_item, i) => (i * 31) % 251);
      const { id } = await artefacts.put(bytes, 'application/octet-stream');
      const edge = fc.oneof(
        fc.nat(bytes.length + 5),
        fc.constantFrom(PIECE - 1, PIECE, PIECE + 1, 3 * PIECE, 3 * PIECE + 16),
      );
      await fc.assert(
        fc.asyncProperty(edge, edge, async (start, end) => {
          expect(Buffer.compare(await artefacts.read(id, start, end), bytes.subarray(start, end))).toBe(0);
        }),
        { numRuns: 20 },
      );
      expect(Buffer.compare(await artefacts.read(id), bytes)).toBe(0);
    });

    it('that begins before the artefact begins with it', async () => {
      const { id } = await artefacts.put('hello', 'text/plain');
      expect(text(await artefacts.read(id, -3, 2))).toBe('he');
    });
  });

  it('takes the id of a file for that of its artefact, and of nothing else', async () => {
    const { id } = await artefacts.put('hello', 'text/plain');
    const file = fileIdOf(id, { filename: 'a.txt', mime_type: 'text/plain' });
    expect(file).not.toBe(id);
    expect(await artefacts.info(file)).toEqual(await artefacts.info(id));
    expect(text(await artefacts.read(file))).toBe('hello');
    await store.copy([file], SCOPE, 'fork of a file');
    expect(text(await store.of('fork of a file').read(file))).toBe('hello');
    for (const other of [`${id}.`, `${id}.txt`, `${file}.json`, `.${file}`]) {
      expect(await artefacts.info(other)).toBeUndefined();
    }
  });

  describe('an id that it does not have', () => {
    const unknown = `art_${'0'.repeat(64)}`;

    it('has no description, and reading it is an error that names it, and no place', async () => {
      expect(await artefacts.info(unknown)).toBeUndefined();
      await expect(artefacts.read(unknown)).rejects.toThrow(
        expect.objectContaining({
          code: 'unknown_artefact',
          message: expect.stringContaining(`there is no artefact "${unknown}" here`),
        }),
      );
    });

    it.each(['', 'art_', '../secret', `art_${'0'.repeat(64)}/../../secret`, `art_${'A'.repeat(64)}`, '/etc/passwd'])(
      'cannot be a way out of its scope: %j',
      async (id) => {
        await artefacts.put('something', 'text/plain');
        expect(await artefacts.info(id)).toBeUndefined();
        await expect(artefacts.read(id)).rejects.toThrow(expect.objectContaining({ code: 'unknown_artefact' }));
      },
    );
  });

  describe('a scope', () => {
    it('has what was put into it, and nothing of another, whatever the id', async () => {
      const own = await artefacts.put('mine', 'text/plain');
      const other = store.of('run_2');
      expect(await other.info(own.id)).toBeUndefined();
      await expect(other.read(own.id)).rejects.toMatchObject({ code: 'unknown_artefact' });
      expect((await other.put('mine', 'text/plain')).id).not.toBe(own.id);
    });

    it('gives another one a copy of what is named, under the same id', async () => {
      const [one, two] = [await artefacts.put('one', 'text/plain'), await artefacts.put('two', 'text/plain')];
      await store.copy([one.id, `art_${'0'.repeat(64)}`, '../x'], SCOPE, 'fork');
      expect(text(await store.of('fork').read(one.id))).toBe('one');
      expect(await store.of('fork').info(one.id)).toEqual(one);
      expect(await store.of('fork').info(two.id)).toBeUndefined();
    });
  });

  describe('what was changed behind its back', () => {
    it.each([
      ['a bit of the first piece', 7],
      ['a bit of a later piece', 2 * PIECE + 40],
    ])('is refused, by name: %s', async (_what, at) => {
      const { id } = await artefacts.put(Buffer.alloc(2 * PIECE + 100, 1), 'application/octet-stream');
      const name = await contentOf(place);
      const bytes = await place.bytesOf(name);
      bytes[at] = (bytes[at] ?? 0) ^ 1;
      await place.overwrite(name, bytes);
      await expect(artefacts.read(id, at, at + 1)).rejects.toMatchObject({
        code: place.encrypted ? 'decryption_failed' : 'object_damaged',
        message: expect.stringContaining(id),
      });
    });

    it('is refused where its end is missing', async () => {
      const { id } = await artefacts.put(Buffer.alloc(1_000, 1), 'application/octet-stream');
      const name = await contentOf(place);
      await place.overwrite(name, (await place.bytesOf(name)).subarray(0, 500));
      await expect(artefacts.read(id)).rejects.toMatchObject({
        code: place.encrypted ? 'decryption_failed' : 'object_damaged',
      });
    });

    it('is refused where the content is gone', async () => {
      const { id } = await artefacts.put('here', 'text/plain');
      await place.remove(await contentOf(place));
      await expect(artefacts.read(id)).rejects.toMatchObject({
        code: 'object_missing',
        message: expect.stringContaining(id),
      });
    });

    it('is refused where the description is no longer one', async () => {
      const { id } = await artefacts.put('here', 'text/plain');
      const name = await descriptionOf(place);
      await place.overwrite(name, (await place.bytesOf(name)).subarray(0, -5));
      await expect(artefacts.info(id)).rejects.toMatchObject({
        code: place.encrypted ? 'decryption_failed' : 'object_damaged',
        message: expect.stringContaining(id),
      });
    });
  });

  describe('keys', () => {
    it('tell what is stored from what can be read', async () => {
      await artefacts.put('a canary in the text', 'text/x-canary');
      const stored = Buffer.concat(await Promise.all((await place.names()).map(place.bytesOf))).toString('latin1');
      expect(stored.includes('canary')).toBe(!place.encrypted);
    });

    it('are needed: one that is missing or wrong is named', async () => {
      const { id } = await artefacts.put('sealed', 'text/plain');
      const others = [
        { keys: undefined, code: 'encryption_key_unknown' },
        { keys: [newKey('other')], code: 'encryption_key_unknown' },
        { keys: [newKey('first')], code: 'decryption_failed' },
      ];
      for (const { keys, code } of others) {
        const reading = (await place.open({ keys })).artefacts.of(SCOPE).read(id);
        if (place.encrypted)
          await expect(reading).rejects.toMatchObject({ code, message: expect.stringContaining('"first"') });
        else expect(text(await reading)).toBe('sealed');
      }
    });

    it('are changed without losing what is there', async () => {
      const { id } = await artefacts.put('old', 'text/plain');
      const before = place.options.keys as { id: string; key: string }[] | undefined;
      const rotated = (await place.open({ keys: [newKey('second'), ...(before ?? [])] })).artefacts.of(SCOPE);
      expect(text(await rotated.read(id))).toBe('old');
      const after = await rotated.put('new', 'text/plain');
      expect(text(await rotated.read(after.id))).toBe('new');
      await expect(artefacts.info(after.id)).rejects.toMatchObject({
        code: 'encryption_key_unknown',
        message: expect.stringContaining('"second"'),
      });
    });
  });
});

async function contentOf(place: Place): Promise<string> {
  return (await place.names()).find((name) => !name.endsWith('.json')) ?? '';
}

async function descriptionOf(place: Place): Promise<string> {
  return (await place.names()).find((name) => name.endsWith('.json')) ?? '';
}

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('utf8');
}
