/** From the headers of a request to the principal that sent it, or an error that says nothing about why. */
import { PerdureError } from '../../contract/errors.js';
import type { Principal } from '../principal.js';
import { checkLocal } from './local-user.js';

/** One kind of credential: undefined where the token is not of this kind, an error where it is and is not good. */
export type TokenCheck = (token: string) => Promise<Principal | undefined>;

export type Auth =
  /** Only on loopback. */
  { kind: 'off' } | { kind: 'on'; checks: readonly [TokenCheck, ...TokenCheck[]] };

export async function authenticate(auth: Auth, headers: Headers): Promise<Principal> {
  if (auth.kind === 'off') return checkLocal(headers);
  const token = /^Bearer ([\x21-\x7e]+)$/i.exec(headers.get('authorization') ?? '')?.[1];
  if (token === undefined) throw refused('the request names nobody');
  for (const check of auth.checks) {
    const principal = await check(token);
    if (principal !== undefined) return principal;
  }
  throw refused('the credential is not valid');
}

export function refused(what: string, cause?: unknown): PerdureError {
  return new PerdureError('unauthenticated', what, { cause });
}
