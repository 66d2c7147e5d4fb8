import { createHash } from 'node:crypto';
import { mkdtemp, readFile, readdir, rm, stat, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ArtefactStore } from '../../contract/artefacts.js';
import { createFileArtefacts } from '../../store/file-artefacts.js';

let parent = '';
let folder = '';
let artefacts: ArtefactStore;

beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'perdure-artefacts-'));
  folder = join(parent, 'artefacts');
  artefacts = createFileArtefacts(folder);
});

afterEach(() => rm(parent, { recursive: true, force: true }));

describe('the artefact store', () => {
  it('gives back the bytes that were put, with their size and type', async () => {
    const bytes = Uint8Array.from({ length: 256 }, (_item, i) => i);
    const info = await artefacts.put(bytes, 'application/octet-stream');
    expect(info).toEqual({ id: `sha256_${sha256(bytes)}`, byte_size: 256, media_type: 'application/octet-stream' });
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

  it('has one file for what was put twice, and no unfinished ones', async () => {
    const first = await artefacts.put('the same', 'text/plain');
    const { mtimeMs } = await stat(pathOf(first.id));
    const second = await artefacts.put(Buffer.from('the same'), 'text/plain');
    expect(second).toEqual(first);
    expect(await files()).toEqual([pathOf(first.id), `${pathOf(first.id)}.json`]);
    expect((await stat(pathOf(first.id))).mtimeMs).toBe(mtimeMs);
  });

  it('takes the same content from many at once, and each gets a whole artefact', async () => {
    const content = 'x'.repeat(300_000);
    const read = async () => {
      const { id } = await artefacts.put(content, 'text/plain');
      return text(await createFileArtefacts(folder).read(id));
    };
    const texts = await Promise.all(Array.from({ length: 20 }, read));
    expect(texts.every((each) => each === content)).toBe(true);
    expect(await files()).toHaveLength(2);
  });

  it('finishes what a crash left half done: the content without its description', async () => {
    const info = await artefacts.put('whole', 'text/plain');
    await unlink(`${pathOf(info.id)}.json`);
    expect(await artefacts.info(info.id)).toBeUndefined();
    await artefacts.put('whole', 'text/plain');
    expect(await artefacts.info(info.id)).toEqual(info);
  });

  it('lets only its owner read the files', async () => {
    const { id } = await artefacts.put('secret', 'text/plain');
    for (const path of await files()) expect((await stat(path)).mode & 0o077).toBe(0);
    expect((await stat(join(pathOf(id), '..'))).mode & 0o077).toBe(0);
  });
});

describe('a range of an artefact', () => {
  it('is what slicing its bytes would give, for any start and end', async () => {
    const bytes = Uint8Array.from({ length: 50 }, (_item, i) => i);
    const { id } = await artefacts.put(bytes, 'application/octet-stream');
    const edge = fc.option(fc.nat(60), { nil: undefined });
    await fc.assert(
      fc.asyncProperty(edge, edge, async (start, end) => {
        expect(Buffer.compare(await artefacts.read(id, start, end), bytes.subarray(start ?? 0, end))).toBe(0);
      }),
    );
  });

  it('that begins before the artefact begins with it', async () => {
    const { id } = await artefacts.put('hello', 'text/plain');
    expect(text(await artefacts.read(id, -3, 2))).toBe('he');
  });
});

describe('an id that the store does not have', () => {
  const unknown = `sha256_${'0'.repeat(64)}`;

  it('has no description, and reading it is an error that names it and the folder', async () => {
    expect(await artefacts.info(unknown)).toBeUndefined();
    await expect(artefacts.read(unknown)).rejects.toThrow(
      expect.objectContaining({
        code: 'invalid_request',
        message: expect.stringContaining(`there is no artefact "${unknown}" in ${folder}`),
      }),
    );
  });

  it.each([
    '',
    'sha256_',
    '../secret',
    // Where the files of the test are, if it were taken for a path.
    'sha256_a/../../../secret',
    'sha256_../../../../../../../../../../../../../../../../../../etc/passwd.',
    `sha256_../../${'0'.repeat(58)}`,
    `sha256_${'0'.repeat(64)}/../../secret`,
    `sha256_${'0'.repeat(64)}\n`,
    `sha256_${'G'.repeat(64)}`,
    `sha256_${'A'.repeat(64)}`,
    '/etc/passwd',
    'secret',
  ])('cannot be a path out of the folder: %j', async (id) => {
    await artefacts.put('something', 'text/plain');
    for (const path of [join(parent, 'secret'), join(parent, 'secret.json')]) {
      await writeFile(path, JSON.stringify({ id: 'secret', byte_size: 5, media_type: 'text/plain' }));
    }
    expect(await artefacts.info(id)).toBeUndefined();
    await expect(artefacts.read(id)).rejects.toThrow(expect.objectContaining({ code: 'invalid_request' }));
  });
});

describe('what the store wrote', () => {
  it('is found under its hash by another process, with its description beside it', async () => {
    const info = await artefacts.put('shared', 'text/plain');
    expect(await readFile(pathOf(info.id), 'utf8')).toBe('shared');
    expect(JSON.parse(await readFile(`${pathOf(info.id)}.json`, 'utf8'))).toEqual(info);
  });
});

function pathOf(id: string): string {
  const hash = id.slice('sha256_'.length);
  return join(folder, hash.slice(0, 2), hash);
}

async function files(): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted();
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('utf8');
}
