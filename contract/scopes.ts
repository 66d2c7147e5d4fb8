/** What a credential may do, whatever its owner may. Reading is narrowed further by its profiles. */
import { z } from 'zod';
import type { OrgRole } from './api-key.js';

export const SCOPES = [
  'runs:read',
  'runs:start',
  'runs:cancel',
  'runs:answer',
  'runs:approve',
  'threads:read',
  'threads:write',
  'agents:read',
  'agents:write',
  /** To act in what colleagues started; takes the role `admin` as well. */
  'admin',
  /** The gateway's own counters, which are about all orgs: for its operator. */
  'metrics',
  /** To make payloads of all orgs plain, as for Temporal's UI: for its operator. */
  'codec',
] as const;
export const Scope = z.enum(SCOPES);
export type Scope = z.infer<typeof Scope>;

const NOT_OF_MEMBERS: readonly Scope[] = ['admin', 'metrics', 'codec'];
const MEMBER: readonly Scope[] = SCOPES.filter((scope) => !NOT_OF_MEMBERS.includes(scope));
const READER: readonly Scope[] = MEMBER.filter((scope) => scope.endsWith(':read'));

/** Where a credential names none. One that may read nothing but figures is made for reading. */
export function defaultScopes(role: OrgRole, profiles: readonly string[]): readonly Scope[] {
  if (profiles.every((name) => name === 'metrics')) return READER;
  return role === 'admin' ? [...MEMBER, 'admin'] : MEMBER;
}
