/** What is special about artefacts on files; what all stores do is in artefacts.test.ts. */
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Artefacts, ArtefactStore } from '../../contract/artefacts.js';
import { createFileArtefacts } from '../../store/file-artefacts.js';

let parent = '';
let folder = '';
const SCOPE = 'run_1';
let store: ArtefactStore;
let artefacts: Artefacts;

beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'perdure-artefacts-'));
  folder = join(parent, 'artefacts');
  store = createFileArtefacts(folder);
  artefacts = store.of(SCOPE);
});

afterEach(() => rm(parent, { recursive: true, force: true }));

describe('artefacts on files', () => {
  it('are files named by scope and content, with their description beside them', async () => {
    const info = await artefacts.put('shared', 'text/plain');
    expect((await files()).toSorted()).toEqual([join(folder, 'ids.key'), pathOf(info.id), `${pathOf(info.id)}.json`]);
    expect(await readFile(pathOf(info.id), 'utf8')).toBe('shared');
    expect(JSON.parse(await readFile(`${pathOf(info.id)}.json`, 'utf8'))).toMatchObject(info);
  });

  it('are not written anew when they are put again', async () => {
    const { id } = await artefacts.put('the same', 'text/plain');
    const { mtimeMs } = await stat(pathOf(id));
    await artefacts.put('the same', 'text/plain');
    expect((await stat(pathOf(id))).mtimeMs).toBe(mtimeMs);
  });

  it('can be read by their owner only', async () => {
    const { id } = await artefacts.put('secret', 'text/plain');
    for (const path of await files()) expect((await stat(path)).mode & 0o077).toBe(0);
    expect((await stat(join(pathOf(id), '..'))).mode & 0o077).toBe(0);
  });

  it('from before there were digests are read as they are', async () => {
    const info = { id: `art_${'a'.repeat(64)}`, byte_size: 5, media_type: 'text/plain' };
    await mkdir(join(pathOf(info.id), '..'), { recursive: true });
    await writeFile(pathOf(info.id), 'older');
    await writeFile(`${pathOf(info.id)}.json`, JSON.stringify(info));
    expect(await artefacts.info(info.id)).toEqual(info);
    expect(text(await artefacts.read(info.id, 1, 3))).toBe('ld');
  });

  it('from before there were scopes are shown to those who may, and in no scope', async () => {
    const hash = sha256(Buffer.from('old'));
    const path = join(folder, hash.slice(0, 2), hash);
    const info = { id: `sha256_${hash}`, byte_size: 3, media_type: 'text/plain' };
    await mkdir(join(folder, hash.slice(0, 2)), { recursive: true });
    await writeFile(path, 'old');
    await writeFile(`${path}.json`, JSON.stringify(info));
    expect(await artefacts.info(info.id)).toBeUndefined();
    expect(await store.unscoped.info(info.id)).toEqual(info);
    expect(text(await store.unscoped.read(info.id))).toBe('old');
  });
});

describe('an id', () => {
  it.each([
    '',
    'art_',
    '../secret',
    // Where the files of the test are, if it were taken for a path.
    'art_a/../../../secret',
    'art_../../../../../../../../../../../../../../../../../../etc/passwd.',
    `art_../../${'0'.repeat(58)}`,
    `art_${'0'.repeat(64)}/../../secret`,
    `art_${'0'.repeat(64)}\n`,
    `art_${'G'.repeat(64)}`,
    `art_${'A'.repeat(64)}`,
    '/etc/passwd',
    'secret',
  ])('cannot be a path out of the folder: %j', async (id) => {
    await artefacts.put('something', 'text/plain');
    for (const path of [join(parent, 'secret'), join(parent, 'secret.json')]) {
      await writeFile(path, JSON.stringify({ id: 'secret', byte_size: 5, media_type: 'text/plain' }));
    }
    expect(await artefacts.info(id)).toBeUndefined();
    await expect(artefacts.read(id)).rejects.toThrow(expect.objectContaining({ code: 'unknown_artefact' }));
  });
});

function pathOf(id: string): string {
  const place = sha256(Buffer.from(SCOPE));
  return join(folder, 'scopes', place.slice(0, 2), place, id);
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
