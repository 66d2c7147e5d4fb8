/** `perdure keys`: API keys of the gateway. The key itself is printed once, when it is made. */
import { z } from 'zod';
import { OrgId, OrgRole, ProfileNames, Roles, UserId } from '../contract/api-key.js';
import { isShipped, profileNames } from '../contract/profiles.js';
import { defaultScopes, SCOPES } from '../contract/scopes.js';
import type { Records } from '../store/records.js';
import { CommandError } from './command-error.js';
import { dataDirFor, findConfig } from './config-file.js';
import { EXIT } from './exit-codes.js';
import type { KeysFileFlags } from './gateway-flags.js';
import { loadRegistry } from './load-config.js';
import { openRecordsFor } from './open-records.js';
import { stderr, stdout } from './own-output.js';

const Scopes = z.array(z.enum(SCOPES, `must be of ${SCOPES.join(', ')}`));

export interface KeysFlags extends KeysFileFlags {
  dataDir?: string;
  config?: string;
}

export interface CreateKeyFlags extends KeysFlags {
  org: string;
  user: string;
  role?: string;
  profiles?: string;
  roles?: string;
  scopes?: string;
}

async function withRecords(flags: KeysFlags, work: (records: Records) => Promise<void>): Promise<number> {
  const cwd = process.cwd();
  const dataDir = dataDirFor(cwd, findConfig(cwd, flags.config), flags.dataDir);
  const records = await openRecordsFor(dataDir, flags, process.env, (line) => stderr.write(`${line}\n`));
  try {
    await work(records);
  } finally {
    await records.close();
  }
  return EXIT.success;
}

export async function createKey(flags: CreateKeyFlags): Promise<number> {
  const owner = {
    org_id: checked(OrgId, flags.org, '--org'),
    user_id: checked(UserId, flags.user, '--user'),
    role: checked(OrgRole, flags.role ?? 'member', '--role'),
    profiles: checked(ProfileNames, (flags.profiles ?? 'user_chat').split(','), '--profiles'),
    ...(flags.roles === undefined ? {} : { roles: checked(Roles, flags.roles.split(','), '--roles') }),
    ...(flags.scopes === undefined ? {} : { scopes: checked(Scopes, flags.scopes.split(','), '--scopes') }),
  };
  await checkProfiles(owner.profiles, flags);
  return withRecords(flags, async ({ keys, place }) => {
    const { key, id } = await keys.create(owner);
    stdout.write(`${key}\n`);
    stderr.write(`key ${id} is in ${place}, as a hash: this is the only time that it is shown\n`);
  });
}

export function listKeys(flags: KeysFlags): Promise<number> {
  return withRecords(flags, async ({ keys, place }) => {
    const records = await keys.list();
    if (records.length === 0) stderr.write(`no keys in ${place}\n`);
    for (const { id, org_id, user_id, role, roles = [], profiles, scopes, created_at } of records) {
      const may = (scopes ?? defaultScopes(role, profiles)).join(',');
      const who = [role, ...roles].join(',');
      stdout.write(`${id}  ${created_at}  ${org_id}  ${user_id}  ${who}  ${profiles.join(',')}  ${may}\n`);
    }
  });
}

export function revokeKey(id: string, flags: KeysFlags): Promise<number> {
  return withRecords(flags, async ({ keys, place }) => {
    if (!(await keys.revoke(id)))
      throw new CommandError(`There is no key ${id} in ${place}. "keys list" shows those there are.`);
    stderr.write(`key ${id} is revoked: gateways refuse it from the next request on\n`);
  });
}

/** Those that ship are known everywhere; the configuration is loaded where another one is named. */
async function checkProfiles(names: readonly string[], flags: KeysFlags): Promise<void> {
  if (names.every(isShipped)) return;
  const { profiles } = await loadRegistry(findConfig(process.cwd(), flags.config));
  const known = profileNames(profiles);
  const missing = names.filter((name) => !known.includes(name));
  if (missing.length === 0) return;
  throw new CommandError(`--profiles: there is no stream profile "${missing.join('", "')}", only ${known.join(', ')}.`);
}

interface Schema<T> {
  safeParse(value: unknown): { success: true; data: T } | { success: false; error: { issues: { message: string }[] } };
}

function checked<T>(schema: Schema<T>, value: unknown, flag: string): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new CommandError(`${flag}: ${parsed.error.issues.map(({ message }) => message).join('; ')}.`);
}
