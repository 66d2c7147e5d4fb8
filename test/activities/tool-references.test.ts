/** References to the artefact store in what a tool returns. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toToolOutput } from '../../activities/tool-output.js';
import type { ArtefactStore } from '../../contract/artefacts.js';
import { createFileArtefacts } from '../../store/file-artefacts.js';

let folder: string;
let store: ArtefactStore;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perdure-references-'));
  store = createFileArtefacts(folder);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const picture = (id: string) => [
  { type: 'text' as const, text: 'look' },
  { type: 'image_url' as const, image_url: { url: `artefact:${id}` } },
];

describe('a tool that returns a reference to the store', () => {
  it('may name what it has put there for its own run', async () => {
    const own = store.of('run-1');
    const { id } = await own.put('a picture', 'image/png');
    expect((await toToolOutput(picture(id), own)).content).toEqual(picture(id));
  });

  it('names nothing of others by it, nor what was stored before there were scopes', async () => {
    const { id } = await store.of('run-2').put('a picture', 'image/png');
    for (const named of [id, `sha256_${'0'.repeat(64)}`, `art_${'0'.repeat(64)}`, '', '../x'])
      await expect(toToolOutput(picture(named), store.of('run-1'))).rejects.toMatchObject({
        kind: 'malformed_result',
        message: expect.stringContaining('refers to what is not in the store'),
      });
  });
});
