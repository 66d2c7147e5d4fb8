/** Who asks. */
import type { OrgRole } from '../contract/api-key.js';
import type { Principal as RunPrincipal } from '../contract/principal.js';
import type { Scope } from '../contract/scopes.js';
import { PerdureError } from '../contract/errors.js';
import { profileNames, resolveProfile } from '../contract/profiles.js';
import type { OwnProfiles, StreamProfile } from '../contract/profiles.js';
import type { Catalog } from './shapes/catalog.js';

/** With auth on: a user of an org. */
export interface Member {
  kind: 'member';
  user_id: string;
  org_id: string;
  role: OrgRole;
  /** Of the application's own, beside the role. */
  roles: readonly string[];
  scopes: readonly Scope[];
  /** The stream profiles it may ask for; the first is its default. */
  profiles: readonly [string, ...string[]];
}

/** Without auth, on loopback: whoever sits at this machine, who sees all. */
export interface LocalUser {
  kind: 'local';
}

export type Principal = Member | LocalUser;

export function mayDo(principal: Principal, scope: Scope): boolean {
  return principal.kind === 'local' || principal.scopes.includes(scope);
}

export function checkScope(principal: Principal, scope: Scope): void {
  if (mayDo(principal, scope)) return;
  throw new PerdureError('forbidden', `this takes the scope "${scope}", which the credential does not have`);
}

/** Acts in what colleagues started. */
export function isAdmin(principal: Principal): boolean {
  return principal.kind === 'local' || (principal.role === 'admin' && principal.scopes.includes('admin'));
}

/** As runs are told of it: for whom they work, and who answers them. Undefined where there is nobody. */
export function runPrincipal(principal: Principal): Required<RunPrincipal> | undefined {
  if (principal.kind === 'local') return undefined;
  const { org_id, user_id, roles, role } = principal;
  // Whoever may not act as an admin is none to a run either.
  const own = role === 'admin' && !isAdmin(principal) ? 'member' : role;
  return { org_id, user_id, roles: [own, ...roles.filter((name) => name !== 'admin' && name !== 'member')] };
}

/** Who answers is known where auth is on, and then it is not the caller's to say. */
export function answererOf(principal: Principal): { answered_by?: string; by?: RunPrincipal } {
  const known = runPrincipal(principal);
  return known === undefined ? {} : { answered_by: known.user_id, by: known };
}

/** For requests. */
export function rolesOf(principal: Principal): { roles?: string[] } {
  const known = runPrincipal(principal);
  return known === undefined ? {} : { roles: [...known.roles] };
}

/** Whose the runs are that it sees, where a record does not say otherwise; '' where it is nobody's. */
export function orgOf(principal: Principal, record: { org_id?: string | undefined } = {}): string {
  return principal.kind === 'member' ? principal.org_id : (record.org_id ?? '');
}

/** For limits: each has its own. */
export function principalKey(principal: Principal): string {
  return principal.kind === 'local' ? 'local' : JSON.stringify([principal.org_id, principal.user_id]);
}

/** For records that say whose they are; empty where there is nobody. */
export function userOf(principal: Principal): string {
  return principal.kind === 'local' ? '' : principal.user_id;
}

/** All of one run's own log, with links to its children. */
export const EVERYTHING: StreamProfile = { kinds: {}, default: 'include', children: 'linked', redact: {} };

const NONE: OwnProfiles = new Map();

/** A credential may be older than the configuration, or of another gateway: what is not there opens nothing. */
export function checkProfilesOf(principal: Principal, { profiles: own = NONE }: Pick<Catalog, 'profiles'>): Principal {
  if (principal.kind === 'local') return principal;
  const known = profileNames(own);
  const missing = principal.profiles.filter((name) => !known.includes(name));
  if (missing.length === 0) return principal;
  const what = `the credential names the stream profile "${missing.join('", "')}", which this gateway does not have`;
  throw new PerdureError('unauthenticated', what);
}

/** The profile through which it reads: the one that is asked for, if it may, else its default. */
export function chooseProfile(
  { profiles: own = NONE }: Pick<Catalog, 'profiles'>,
  principal: Principal,
  asked: string | undefined,
): StreamProfile {
  if (asked === undefined && principal.kind === 'local') return EVERYTHING;
  const allowed = principal.kind === 'local' ? profileNames(own) : principal.profiles;
  const found = asked === undefined ? allowed[0] : allowed.find((name) => name === asked);
  if (found !== undefined) return resolveProfile(found, own);
  throw new PerdureError('forbidden', `the profile "${asked}" is not among those you may use: ${allowed.join(', ')}`);
}
