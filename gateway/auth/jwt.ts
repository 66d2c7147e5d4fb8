/** JSON Web Tokens, signed with a key of the issuer's published set. */
import { createRemoteJWKSet, jwtVerify } from 'jose';
import type { JWTPayload } from 'jose';
import { z } from 'zod';
import { OrgId, OrgRole, ProfileNames, Roles, UserId } from '../../contract/api-key.js';
import { PerdureError } from '../../contract/errors.js';
import { defaultScopes, Scope, SCOPES } from '../../contract/scopes.js';
import type { Member } from '../principal.js';
import { isLoopback } from './local-user.js';
import { refused } from './authenticate.js';
import type { TokenCheck } from './authenticate.js';

/** Asymmetric ones only: with a symmetric one, whoever can check a token can make one. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];
const FETCH_TIMEOUT_MS = 5_000;
const CLOCK_TOLERANCE_S = 5;

/**
 * As OAuth has it: names with spaces between, or a list. Issuers put names of other services there too, which say
 * nothing about this one; what looks like one of ours must be one.
 */
const Scopes = z
  .union([z.string().transform((text) => text.split(' ')), z.array(z.string())])
  .transform((names) => names.filter(isOurs))
  .pipe(z.array(Scope))
  .transform((names) => (names.length === 0 ? undefined : names))
  .optional();
const OURS = new Set(SCOPES.map((scope) => scope.split(':')[0]));
function isOurs(name: string): boolean {
  return OURS.has(name.split(':')[0] ?? '');
}

export interface JwtOptions {
  jwks_url: string;
  issuer: string;
  audience: string;
  /** Names of the claims; `sub`, `org_id`, `role`, `roles`, `scope` and `profiles` by default. */
  claims?: Partial<Record<'user' | 'org' | 'role' | 'roles' | 'scope' | 'profiles', string>>;
}

export function jwtCheck(options: JwtOptions): TokenCheck {
  const { issuer, audience } = options;
  const keys = createRemoteJWKSet(checkedUrl(options.jwks_url), { timeoutDuration: FETCH_TIMEOUT_MS });
  return async (token) => {
    if (token.split('.').length !== 3) return undefined;
    const { payload } = await jwtVerify(token, keys, {
      issuer,
      audience,
      algorithms: ALGORITHMS,
      requiredClaims: ['exp'],
      clockTolerance: CLOCK_TOLERANCE_S,
    }).catch((error: unknown) => {
      throw explain(error);
    });
    return memberOf(payload, options.claims ?? {});
  };
}

/** A token whose claims say nothing of a role or of profiles gets the least; one that says it wrongly gets nothing. */
function memberOf(payload: JWTPayload, names: NonNullable<JwtOptions['claims']>): Member {
  const user = UserId.safeParse(payload[names.user ?? 'sub']);
  const org = OrgId.safeParse(payload[names.org ?? 'org_id']);
  const role = OrgRole.default('member').safeParse(payload[names.role ?? 'role']);
  const profiles = ProfileNames.default(['user_chat']).safeParse(payload[names.profiles ?? 'profiles']);
  const roles = Roles.default([]).safeParse(payload[names.roles ?? 'roles']);
  const scope = Scopes.safeParse(payload[names.scope ?? 'scope']);
  if (user.success && org.success && role.success && roles.success && scope.success && profiles.success) {
    return {
      kind: 'member',
      user_id: user.data,
      org_id: org.data,
      role: role.data,
      roles: roles.data,
      scopes: scope.data ?? defaultScopes(role.data, profiles.data),
      profiles: profiles.data,
    };
  }
  const wrong = Object.entries({ user, org, role, roles, scope, profiles }).flatMap(([name, { success }]) =>
    success ? [] : [name],
  );
  throw refused(`the token does not say, or not in a form that is known, its ${wrong.join(', ')}`);
}

/** What is wrong with the token is the caller's; that the set cannot be fetched is ours. */
function explain(error: unknown): PerdureError {
  const code = String((error as { code?: unknown }).code);
  const ofToken = /^ERR_(JWT|JWS|JOSE_ALG|JOSE_NOT_SUPPORTED|JWKS_NO_MATCHING|JWKS_MULTIPLE)/.test(code);
  if (ofToken) return refused('the credential is not valid', error);
  return new PerdureError('server_unreachable', 'the issuer of tokens gave no answer', { cause: error });
}

function checkedUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname))) return url;
  throw new PerdureError('invalid_config', `the JWKS URL "${text}" is no https URL`);
}
