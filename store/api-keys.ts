/**
 * API keys. Of each the database has a hash: whoever reads it can call as nobody. Every use of a key asks the database,
 * so that one that is revoked anywhere is refused from the next request on.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Selectable } from 'kysely';
import { ApiKeyRecord, ProfileNames, Roles, Scopes } from '../contract/api-key.js';
import type { Database } from './database/open-database.js';
import type { ApiKeysTable } from './database/tables.js';
import { checkRecords, parseRecords } from './parse-records.js';

const KEY_PATTERN = /^perdure_([0-9a-f]{12})_[A-Za-z0-9_-]{43}$/;

export interface ApiKeys {
  /** The oldest first. */
  list(): Promise<readonly ApiKeyRecord[]>;
  /** The key is given out here and nowhere else. */
  create(owner: Omit<ApiKeyRecord, 'id' | 'hash' | 'created_at'>): Promise<{ key: string; id: string }>;
  /** False where there is no such key. */
  revoke(id: string): Promise<boolean>;
  /** Whose key it is; undefined where it is nobody's. Takes as long for an unknown key as for a known one. */
  find(key: string): Promise<ApiKeyRecord | undefined>;
}

export function createApiKeys({ query, place }: Database): ApiKeys {
  const valid = query.selectFrom('api_keys').selectAll().where('revoked_at', 'is', null);
  const toRecord = (row: Selectable<ApiKeysTable>) => recordOf(row, place);

  return {
    async list() {
      return (await valid.orderBy('created_at').orderBy('id').execute()).map(toRecord);
    },
    async create(owner) {
      const id = randomBytes(6).toString('hex');
      const key = `perdure_${id}_${randomBytes(32).toString('base64url')}`;
      const record = { id, hash: hashOf(key).toString('hex'), ...owner, created_at: new Date().toISOString() };
      await query.insertInto('api_keys').values(toApiKeyRow(record)).execute();
      return { key, id };
    },
    async revoke(id) {
      const revoked_at = new Date().toISOString();
      const { numUpdatedRows } = await query
        .updateTable('api_keys')
        .set({ revoked_at })
        .where('id', '=', id)
        .where('revoked_at', 'is', null)
        .executeTakeFirst();
      return numUpdatedRows > 0n;
    },
    async find(key) {
      const id = KEY_PATTERN.exec(key)?.[1] ?? '';
      const row = await valid.where('id', '=', id).executeTakeFirst();
      const expected = row === undefined ? Buffer.alloc(32) : Buffer.from(row.hash, 'hex');
      return timingSafeEqual(hashOf(key), expected) && row !== undefined ? toRecord(row) : undefined;
    },
  };
}

export function toApiKeyRow({ profiles, roles, scopes, ...record }: ApiKeyRecord): Selectable<ApiKeysTable> {
  const lists = { profiles: JSON.stringify(profiles), roles: listed(roles), scopes: listed(scopes) };
  return { ...record, ...lists, revoked_at: null };
}

function listed(names: readonly string[] | undefined): string | null {
  return names === undefined ? null : JSON.stringify(names);
}

/** Checked: what somebody has written into the table by hand must not open more than we would have let them. */
function recordOf(found: Selectable<ApiKeysTable>, place: string): ApiKeyRecord {
  const { revoked_at: _revoked, profiles, roles, scopes, ...row } = found;
  const what = `the API key ${row.id} in ${place}`;
  const lists = {
    profiles: parseRecords(ProfileNames, profiles, what),
    // Scopes that are absent are those of the role: only what was never given counts as absent.
    ...(roles === null ? {} : { roles: parseRecords(Roles, roles, what) }),
    ...(scopes === null ? {} : { scopes: parseRecords(Scopes, scopes, what) }),
  };
  return checkRecords(ApiKeyRecord, { ...row, ...lists }, what);
}

function hashOf(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}
