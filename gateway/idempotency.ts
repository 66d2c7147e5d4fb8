/**
 * A start that is repeated gives the run that is there already.
 *
 * I1  Run ids are global in Temporal. With auth on, an id of the caller's choice begins with its org and a colon, so
 *     that orgs cannot meet: any other id is refused without a look, and no answer tells of a foreign run.
 * I2  An `Idempotency-Key` becomes a run id that only this user of this org can arrive at.
 * I3  Two requests are the same when they have the same digest; the digest is in the run's memo.
 */
import { createHash } from 'node:crypto';
import type { RunRequestInput } from '../contract/run.js';
import { PerdureError } from '../contract/errors.js';
import type { Principal } from './principal.js';

/** Printable ASCII: what a header can carry without anyone's guess. */
const KEY_PATTERN = /^[\x20-\x7e]{1,255}$/;

/** The id that the caller means, if it means one. */
export function chosenRunId(principal: Principal, asked: string | undefined, key: string | null): string | undefined {
  if (key !== null && asked !== undefined) throw invalid('run_id', 'give a run_id or an Idempotency-Key, not both');
  if (key !== null) {
    if (!KEY_PATTERN.test(key)) throw invalid('Idempotency-Key', 'must have 1 to 255 printable ASCII characters');
    const owner = principal.kind === 'local' ? [] : [principal.org_id, principal.user_id];
    return `key_${sha256(JSON.stringify([...owner, key]))}`;
  }
  if (asked !== undefined && principal.kind === 'member' && !asked.startsWith(`${principal.org_id}:`)) {
    throw invalid('run_id', `must begin with "${principal.org_id}:", since ids are shared by all orgs`);
  }
  return asked;
}

/** Of what is asked, whatever the order of the fields; not of the id, which is what it is compared for. */
export function requestDigest(request: RunRequestInput): string {
  return digestOf({ ...request, run_id: undefined });
}

/** Whatever the order of the fields. */
export function digestOf(value: unknown): string {
  return sha256(JSON.stringify(sorted(value)));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, field]) => [key, sorted(field)]),
  );
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function invalid(path: string, message: string): PerdureError {
  return new PerdureError('invalid_request', `${path}: ${message}`, { issues: [{ path, message }] });
}
