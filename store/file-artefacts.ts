/**
 * The artefact store on files. Content is addressed by its SHA-256, so writing the same thing twice (a retried
 * activity) leaves one copy, and a file that exists is whole: it was renamed into place.
 */
import { createHash, randomUUID } from 'node:crypto';
import { mkdir, open, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ArtefactInfo, ArtefactStore } from '../contract/artefacts.js';
import { PerdureError } from '../contract/errors.js';
import { undefinedIfMissing } from './if-missing.js';

const ID_PATTERN = /^sha256_[0-9a-f]{64}$/;

export function createFileArtefacts(folder: string): ArtefactStore {
  async function infoOf(id: string): Promise<ArtefactInfo | undefined> {
    if (!ID_PATTERN.test(id)) return undefined;
    const text = await readFile(`${pathOf(folder, id)}.json`, 'utf8').catch(undefinedIfMissing);
    return text === undefined ? undefined : (JSON.parse(text) as ArtefactInfo);
  }

  return {
    async put(content, mediaType) {
      const bytes = typeof content === 'string' ? Buffer.from(content, 'utf8') : content;
      const id = `sha256_${createHash('sha256').update(bytes).digest('hex')}`;
      const info: ArtefactInfo = { id, byte_size: bytes.byteLength, media_type: mediaType };
      const path = pathOf(folder, id);
      if (!(await exists(path))) await writeWhole(path, bytes);
      if (!(await exists(`${path}.json`))) await writeWhole(`${path}.json`, Buffer.from(JSON.stringify(info)));
      return info;
    },
    info: infoOf,
    async read(id, from = 0, end = Number.POSITIVE_INFINITY) {
      const info = await infoOf(id);
      if (info === undefined) {
        throw new PerdureError('invalid_request', `there is no artefact "${id}" in ${folder}`);
      }
      const start = Math.max(0, from);
      const length = Math.max(0, Math.min(end, info.byte_size) - start);
      const file = await open(pathOf(folder, id), 'r');
      try {
        const buffer = new Uint8Array(length);
        const { bytesRead } = await file.read(buffer, 0, length, start);
        return buffer.subarray(0, bytesRead);
      } finally {
        await file.close();
      }
    },
  };
}

function pathOf(folder: string, id: string): string {
  const hash = id.slice('sha256_'.length);
  return join(folder, hash.slice(0, 2), hash);
}

/** Written beside its place, synced, then renamed: a crash leaves no half file under a good name. */
export async function writeWhole(path: string, bytes: Uint8Array): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const temporary = `${path}.${randomUUID()}.tmp`;
  await writeFile(temporary, bytes, { mode: 0o600, flush: true });
  await rename(temporary, path);
}

export async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(undefinedIfMissing)) !== undefined;
}
