/** Who asks. */
import type { OrgRole } from '../contract/api-key.js';
import { PerdureError } from '../contract/errors.js';
import { PROFILES } from '../contract/profiles.js';
import type { ProfileName, StreamProfileInput } from '../contract/profiles.js';

/** With auth on: a user of an org. */
export interface Member {
  kind: 'member';
  user_id: string;
  org_id: string;
  role: OrgRole;
  /** The stream profiles it may ask for; the first is its default. */
  profiles: readonly [ProfileName, ...ProfileName[]];
}

/** Without auth, on loopback: whoever sits at this machine, who sees all. */
export interface LocalUser {
  kind: 'local';
}

export type Principal = Member | LocalUser;

/** For limits: each has its own. */
export function principalKey(principal: Principal): string {
  return principal.kind === 'local' ? 'local' : JSON.stringify([principal.org_id, principal.user_id]);
}

/** For records that say whose they are; empty where there is nobody. */
export function userOf(principal: Principal): string {
  return principal.kind === 'local' ? '' : principal.user_id;
}

/** All of one run's own log, with links to its children. */
const EVERYTHING: StreamProfileInput = { kinds: {}, default: 'include', children: 'linked' };

/** The profile through which it reads: the one that is asked for, if it may, else its default. */
export function chooseProfile(principal: Principal, asked: string | undefined): ProfileName | StreamProfileInput {
  const allowed = principal.kind === 'local' ? (Object.keys(PROFILES) as ProfileName[]) : principal.profiles;
  if (asked === undefined) return principal.kind === 'local' ? EVERYTHING : principal.profiles[0];
  const found = allowed.find((name) => name === asked);
  if (found !== undefined) return found;
  throw new PerdureError('forbidden', `the profile "${asked}" is not among those you may use: ${allowed.join(', ')}`);
}
