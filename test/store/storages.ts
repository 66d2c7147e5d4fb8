/** The same tests on files and in a bucket, plain and encrypted: each test has an empty place. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { describe, inject, onTestFinished, vi } from 'vitest';
import { openStorage } from '../../store/open-storage.js';
import type { Storage, StorageOptions } from '../../store/open-storage.js';
import type { S3Settings } from '../../store/objects/s3-objects.js';
import { createBucket, deleteObject } from '../support/s3.js';

export interface Place {
  options: StorageOptions & { s3?: S3Settings };
  /** What was reported. */
  said: string[];
  encrypted: boolean;
  /** Opened once more, as another process would; closed when the test ends. */
  open(more?: Partial<StorageOptions>): Promise<Storage>;
  /** All that is stored, by name; without what the server keeps for itself, and without the secret of ids. */
  names(): Promise<string[]>;
  bytesOf(name: string): Promise<Buffer>;
  /** Behind the back of the store. */
  overwrite(name: string, bytes: Uint8Array): Promise<void>;
  remove(name: string): Promise<void>;
}

const KINDS = ['files', 'a bucket', 'files, encrypted', 'a bucket, encrypted'] as const;
export type Kind = (typeof KINDS)[number];

export function onAllStorages(what: string, tests: (fresh: () => Promise<Place>) => void): void {
  describe.each(KINDS)(`${what}, in %s`, (kind) => {
    describe.skipIf(kind.startsWith('a bucket') && inject('s3') === null)('as it is', () => {
      tests(() => placeOf(kind));
    });
  });
}

export function newKey(id: string): { id: string; key: string } {
  return { id, key: randomBytes(32).toString('base64') };
}

export async function placeOf(kind: Kind, endpoint?: string): Promise<Place> {
  const dataDir = await mkdtemp(join(tmpdir(), 'perdure-storage-'));
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
  const encrypted = kind.endsWith('encrypted');
  const said: string[] = [];
  const server = inject('s3');
  let folder = dataDir;
  const options: StorageOptions & { s3?: S3Settings } = { dataDir, report: (line) => void said.push(line) };
  if (kind.startsWith('a bucket') && server !== null) {
    const bucket = await createBucket(server);
    vi.stubEnv('AWS_ACCESS_KEY_ID', server.accessKeyId);
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', server.secretAccessKey);
    onTestFinished(() => void vi.unstubAllEnvs());
    options.s3 = { bucket, prefix: 'team/perdure', endpoint: endpoint ?? server.endpoint };
    folder = join(server.folder, bucket, 'team', 'perdure');
  }
  if (encrypted) options.keys = [newKey('first')];
  const pathOf = (name: string) => join(folder, name);
  return {
    options,
    said,
    encrypted,
    async open(more = {}) {
      const storage = await openStorage({ ...options, ...more });
      onTestFinished(() => storage.close());
      return storage;
    },
    async names() {
      const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
      return entries
        .filter((entry) => entry.isFile() && /^(?:payloads|artefacts)/.test(relative(folder, entry.parentPath)))
        .filter((entry) => entry.name !== 'ids.key')
        .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
        .toSorted();
    },
    bytesOf: (name) => readFile(pathOf(name)),
    overwrite: (name, bytes) => writeFile(pathOf(name), bytes),
    async remove(name) {
      const { s3 } = options;
      if (s3 === undefined || server === null) return unlink(pathOf(name));
      await deleteObject(server, s3.bucket, `${s3.prefix}/${name}`);
    },
  };
}
