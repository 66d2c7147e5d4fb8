/** `perdure keys`: API keys of the gateway. The key itself is printed once, when it is made. */
import { OrgId, OrgRole, ProfileNames, UserId } from '../contract/api-key.js';
import { createApiKeys } from '../store/api-keys.js';
import type { ApiKeys } from '../store/api-keys.js';
import { CommandError } from './command-error.js';
import { dataDirFor, findConfig } from './config-file.js';
import { EXIT } from './exit-codes.js';
import { defaultKeysPath, keysPath } from './gateway-settings.js';

export interface KeysFlags {
  apiKeysFile?: string;
  dataDir?: string;
  config?: string;
}

export interface CreateKeyFlags extends KeysFlags {
  org: string;
  user: string;
  role?: string;
  profiles?: string;
}

function open(flags: KeysFlags): { keys: ApiKeys; path: string } {
  const cwd = process.cwd();
  const path =
    keysPath(flags, process.env) ?? defaultKeysPath(dataDirFor(cwd, findConfig(cwd, flags.config), flags.dataDir));
  return { keys: createApiKeys(path), path };
}

export async function createKey(flags: CreateKeyFlags): Promise<number> {
  const { keys, path } = open(flags);
  const { key, id } = await keys.create({
    org_id: checked(OrgId, flags.org, '--org'),
    user_id: checked(UserId, flags.user, '--user'),
    role: checked(OrgRole, flags.role ?? 'member', '--role'),
    profiles: checked(ProfileNames, (flags.profiles ?? 'user_chat').split(','), '--profiles'),
  });
  process.stdout.write(`${key}\n`);
  process.stderr.write(`key ${id} is in ${path}, as a hash: this is the only time that it is shown\n`);
  return EXIT.success;
}

export async function listKeys(flags: KeysFlags): Promise<number> {
  const { keys, path } = open(flags);
  const records = await keys.list();
  if (records.length === 0) process.stderr.write(`no keys in ${path}\n`);
  for (const { id, org_id, user_id, role, profiles, created_at } of records) {
    process.stdout.write(`${id}  ${created_at}  ${org_id}  ${user_id}  ${role}  ${profiles.join(',')}\n`);
  }
  return EXIT.success;
}

export async function revokeKey(id: string, flags: KeysFlags): Promise<number> {
  const { keys, path } = open(flags);
  if (!(await keys.revoke(id)))
    throw new CommandError(`There is no key ${id} in ${path}. "keys list" shows those there are.`);
  process.stderr.write(`key ${id} is revoked: gateways refuse it from the next request on\n`);
  return EXIT.success;
}

interface Schema<T> {
  safeParse(value: unknown): { success: true; data: T } | { success: false; error: { issues: { message: string }[] } };
}

function checked<T>(schema: Schema<T>, value: unknown, flag: string): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new CommandError(`${flag}: ${parsed.error.issues.map(({ message }) => message).join('; ')}.`);
}
