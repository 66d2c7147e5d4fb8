/** API keys on disk. */
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createApiKeys } from '../../store/api-keys.js';

const owner = { org_id: 'acme', user_id: 'ann', role: 'member' as const, profiles: ['user_chat'] as ['user_chat'] };
let path = '';

beforeEach(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-api-keys-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  path = join(folder, 'deep', 'api-keys.json');
});

describe('API keys', () => {
  it('are found again by the key, and by nothing that only looks like it', async () => {
    const keys = createApiKeys(path);
    expect(await keys.find('perdure_x')).toBeUndefined();
    const { key, id } = await keys.create(owner);
    expect(key).toMatch(/^perdure_[0-9a-f]{12}_[\w-]{43}$/);
    expect(await keys.find(key)).toMatchObject({ id, ...owner });
    expect(await keys.find(`${key.slice(0, -1)}${key.endsWith('A') ? 'B' : 'A'}`)).toBeUndefined();
    expect(await keys.find(`${key}A`)).toBeUndefined();
    expect(await keys.find('')).toBeUndefined();
  });

  it('are stored as hashes, readable by the owner of the file only', async () => {
    const { key } = await createApiKeys(path).create(owner);
    const text = await readFile(path, 'utf8');
    expect(text).not.toContain(key.slice(21));
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(JSON.parse(text)).toMatchObject({ version: 1, keys: [{ org_id: 'acme' }] });
  });

  it('that are made at the same time are all kept', async () => {
    const made = await Promise.all(Array.from({ length: 5 }, () => createApiKeys(path).create(owner)));
    const keys = createApiKeys(path);
    for (const { key, id } of made) expect(await keys.find(key)).toMatchObject({ id });
  });

  it('are gone once they are revoked, for whoever had read the file before too', async () => {
    const [keys, other] = [createApiKeys(path), createApiKeys(path)];
    const { key, id } = await keys.create(owner);
    expect(await other.find(key)).toBeDefined();
    expect(await keys.revoke(id)).toBe(true);
    expect(await other.find(key)).toBeUndefined();
    expect(await keys.revoke(id)).toBe(false);
  });

  it('of a file that is broken or of another version open nothing, and the error quotes nothing of it', async () => {
    const keys = createApiKeys(path);
    const { key } = await keys.create(owner);
    await writeFile(path, 'secret-looking text');
    await expect(keys.find(key)).rejects.toThrow(/cannot be read: the file is no JSON/);
    await expect(keys.find(key)).rejects.not.toThrow(/secret-looking/);
    await writeFile(path, JSON.stringify({ version: 2, keys: [] }));
    await expect(keys.find(key)).rejects.toMatchObject({ code: 'invalid_config' });
  });

  it('say who holds the lock for too long', async () => {
    const keys = createApiKeys(path);
    await keys.create(owner);
    await writeFile(`${path}.lock`, '');
    await expect(keys.create(owner)).rejects.toThrow(/locked by .*api-keys\.json\.lock: .* delete that file/);
  });
});
