/**
 * API keys in one file, written whole, readable by its owner only. It holds hashes: whoever reads it can call as
 * nobody. A gateway notices a change by itself, so that a key that is revoked is refused from the next request on.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { mkdir, open, readFile, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { ApiKeyFile } from '../contract/api-key.js';
import type { ApiKeyRecord } from '../contract/api-key.js';
import { PerdureError } from '../contract/errors.js';
import { writeWhole } from './file-artefacts.js';
import { undefinedIfMissing } from './if-missing.js';
import { parseRecords } from './parse-records.js';

const KEY_PATTERN = /^perdure_([0-9a-f]{12})_[A-Za-z0-9_-]{43}$/;
const LOCK_ATTEMPTS = 50;
const LOCK_WAIT_MS = 100;

export interface ApiKeys {
  list(): Promise<readonly ApiKeyRecord[]>;
  /** The key is given out here and nowhere else. */
  create(owner: Pick<ApiKeyRecord, 'org_id' | 'user_id' | 'role' | 'profiles'>): Promise<{ key: string; id: string }>;
  /** False where there is no such key. */
  revoke(id: string): Promise<boolean>;
  /** Whose key it is; undefined where it is nobody's. Takes as long for an unknown key as for a known one. */
  find(key: string): Promise<ApiKeyRecord | undefined>;
}

export function createApiKeys(path: string): ApiKeys {
  let read: { mark: string; keys: ApiKeyRecord[] } | undefined;

  async function current(): Promise<ApiKeyRecord[]> {
    const found = await stat(path).catch(undefinedIfMissing);
    if (found === undefined) return [];
    // It is replaced and never edited, so that a new content has a new inode.
    const mark = `${found.ino}:${found.mtimeMs}:${found.size}`;
    if (read?.mark !== mark)
      read = { mark, keys: parseRecords(ApiKeyFile, await readFile(path, 'utf8'), `the API keys in ${path}`).keys };
    return read.keys;
  }

  async function change<T>(edit: (keys: ApiKeyRecord[]) => { keys: ApiKeyRecord[]; result: T }): Promise<T> {
    const unlock = await lock(`${path}.lock`);
    try {
      const { keys, result } = edit([...(await current())]);
      const file: ApiKeyFile = { version: 1, keys };
      await writeWhole(path, Buffer.from(`${JSON.stringify(file, null, 2)}\n`));
      return result;
    } finally {
      await unlock();
    }
  }

  return {
    list: current,
    create(owner) {
      const id = randomBytes(6).toString('hex');
      const key = `perdure_${id}_${randomBytes(32).toString('base64url')}`;
      const record = { id, hash: hashOf(key).toString('hex'), ...owner, created_at: new Date().toISOString() };
      return change((keys) => ({ keys: [...keys, record], result: { key, id } }));
    },
    revoke: (id) =>
      change((keys) => {
        const others = keys.filter((record) => record.id !== id);
        return { keys: others, result: others.length < keys.length };
      }),
    async find(key) {
      const id = KEY_PATTERN.exec(key)?.[1];
      const record = (await current()).find((known) => known.id === id);
      const expected = record === undefined ? Buffer.alloc(32) : Buffer.from(record.hash, 'hex');
      return timingSafeEqual(hashOf(key), expected) ? record : undefined;
    },
  };
}

function hashOf(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}

/** Two commands at once must not lose each other's change. */
async function lock(path: string): Promise<() => Promise<void>> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  for (let attempt = 1; ; attempt++) {
    try {
      await (await open(path, 'wx', 0o600)).close();
      return () => rm(path, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      if (attempt === LOCK_ATTEMPTS) {
        throw new PerdureError(
          'invalid_config',
          `the API keys are locked by ${path}: if no other command is changing them, delete that file`,
          { cause: error },
        );
      }
      await new Promise((resolve) => setTimeout(resolve, LOCK_WAIT_MS));
    }
  }
}
