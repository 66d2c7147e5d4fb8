/** Objects as files of a folder. A file that exists is whole: it was written beside its place, and put there at once. */
import { randomUUID } from 'node:crypto';
import { copyFile, link, mkdir, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { undefinedIfMissing } from '../if-missing.js';
import type { Objects, Range } from './objects.js';

export function createFileObjects(folder: string): Objects {
  const pathOf = (name: string) => join(folder, name);
  return {
    place: folder,
    async put(name, bytes) {
      if (!(await exists(pathOf(name)))) await writeWhole(pathOf(name), bytes);
    },
    async get(name, range) {
      const path = pathOf(name);
      return range === undefined ? readFile(path).catch(undefinedIfMissing) : readPart(path, range);
    },
    has: (name) => exists(pathOf(name)),
    copy: (from, to) => copyWhole(pathOf(from), pathOf(to)),
  };
}

async function readPart(path: string, { start, end }: Range): Promise<Uint8Array | undefined> {
  const file = await open(path, 'r').catch(undefinedIfMissing);
  if (file === undefined) return undefined;
  try {
    const buffer = new Uint8Array(end - start);
    const { bytesRead } = await file.read(buffer, 0, buffer.length, start);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

/** Written beside its place and synced, then linked: a crash leaves no half file under a good name, and the first stays. */
async function writeWhole(path: string, bytes: Uint8Array): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const temporary = `${path}.${randomUUID()}.tmp`;
  await writeFile(temporary, bytes, { mode: 0o600, flush: true });
  try {
    await link(temporary, path);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return;
    if (!WITHOUT_LINKS.includes(code)) throw error;
    await rename(temporary, path);
  } finally {
    await rm(temporary, { force: true });
  }
}

/** What file systems say that have none, such as some of those over a network. */
const WITHOUT_LINKS = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EACCES'];

async function copyWhole(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true, mode: 0o700 });
  const temporary = `${to}.${randomUUID()}.tmp`;
  const found = await copyFile(from, temporary).then(() => true, undefinedIfMissing);
  if (found === true) await rename(temporary, to);
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(undefinedIfMissing)) !== undefined;
}
