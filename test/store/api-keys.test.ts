/** API keys in the database. */
import { sql } from 'kysely';
import { beforeEach, expect, it } from 'vitest';
import { createApiKeys } from '../../store/api-keys.js';
import { onBothDatabases } from './databases.js';
import type { Place } from './databases.js';

const owner = { org_id: 'acme', user_id: 'ann', role: 'member' as const, profiles: ['user_chat'] as ['user_chat'] };

onBothDatabases('API keys', (fresh) => {
  let place: Place;
  beforeEach(async () => {
    place = await fresh();
  });
  const open = async () => createApiKeys(await place.open());

  it('are found again by the key, and by nothing that only looks like it', async () => {
    const keys = await open();
    expect(await keys.find('perdure_x')).toBeUndefined();
    const { key, id } = await keys.create(owner);
    expect(key).toMatch(/^perdure_[0-9a-f]{12}_[\w-]{43}$/);
    expect(await keys.find(key)).toMatchObject({ id, ...owner });
    expect(await keys.find(`${key.slice(0, -1)}${key.endsWith('A') ? 'B' : 'A'}`)).toBeUndefined();
    expect(await keys.find(`${key}A`)).toBeUndefined();
    expect(await keys.find(`${key.slice(0, 20)}\0${key.slice(21)}`)).toBeUndefined();
    expect(await keys.find('')).toBeUndefined();
  });

  it('keep their roles and scopes, where none and the usual ones are not the same', async () => {
    const keys = await open();
    const narrow = { ...owner, roles: ['finance'], scopes: ['runs:read' as const] };
    for (const each of [narrow, { ...owner, roles: [], scopes: [] }, owner]) {
      const { key, id } = await keys.create(each);
      const { hash: _hash, created_at: _at, ...found } = (await keys.find(key))!;
      expect(found).toEqual({ id, ...each });
    }
  });

  it('are stored as hashes', async () => {
    const database = await place.open();
    const { key } = await createApiKeys(database).create(owner);
    const { rows } = await sql`select * from api_keys`.execute(database.query);
    expect(rows).toMatchObject([{ org_id: 'acme', hash: expect.stringMatching(/^[0-9a-f]{64}$/) }]);
    expect(JSON.stringify(rows)).not.toContain(key.slice(21));
  });

  it('that are made at the same time are all kept, the oldest first', async () => {
    const writers = await Promise.all(Array.from({ length: 5 }, open));
    const made = await Promise.all(writers.map((keys) => keys.create(owner)));
    const keys = await open();
    for (const { key, id } of made) expect(await keys.find(key)).toMatchObject({ id });
    const listed = await keys.list();
    expect(listed.map(({ id }) => id).toSorted()).toEqual(made.map(({ id }) => id).toSorted());
    expect(listed.map(({ created_at }) => created_at)).toEqual(listed.map(({ created_at }) => created_at).toSorted());
  });

  it('are gone once they are revoked, for whoever had found them before too', async () => {
    const [keys, other] = [await open(), await open()];
    const { key, id } = await keys.create(owner);
    expect(await other.find(key)).toBeDefined();
    expect(await keys.revoke(id)).toBe(true);
    expect(await other.find(key)).toBeUndefined();
    expect(await other.list()).toEqual([]);
    expect(await keys.revoke(id)).toBe(false);
  });

  it('that somebody has written by hand, and wrongly, open nothing, and are not quoted', async () => {
    const database = await place.open();
    const keys = createApiKeys(database);
    const { key } = await keys.create(owner);
    await database.query.updateTable('api_keys').set({ profiles: 'secret-looking text' }).execute();
    await expect(keys.find(key)).rejects.toThrow(/the API key [0-9a-f]{12} in .* cannot be read: it is no JSON/);
    await expect(keys.find(key)).rejects.not.toThrow(/secret-looking/);
    await database.query.updateTable('api_keys').set({ profiles: '["every thing"]' }).execute();
    await expect(keys.find(key)).rejects.toMatchObject({ code: 'database_unusable' });
    await database.query.updateTable('api_keys').set({ profiles: '["user_chat"]', scopes: '["all"]' }).execute();
    await expect(keys.find(key)).rejects.toMatchObject({ code: 'database_unusable' });
    await database.query.updateTable('api_keys').set({ scopes: null, role: 'root' }).execute();
    await expect(keys.list()).rejects.toMatchObject({ code: 'database_unusable' });
  });
});
