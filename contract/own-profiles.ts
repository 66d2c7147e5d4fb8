/** Stream profiles of the application's own, by name: `profiles` of its configuration. */
import { PerdureError } from './errors.js';
import { isShipped, StreamProfile } from './profiles.js';
import type { OwnProfiles, StreamProfileInput } from './profiles.js';

/** Credentials name them too: in a record of a key, in a claim of a token, in a list with commas. */
export const PROFILE_NAME_PATTERN = /^[a-z][a-z0-9_]{0,63}$/;

export type ProfileInputs = Readonly<Record<string, StreamProfileInput>>;

/** Those that are right; each mistake is noted with its field. */
export function checkProfiles(given: ProfileInputs, note: (field: string, problem: string) => void): OwnProfiles {
  const checked = new Map<string, StreamProfile>();
  for (const [name, profile] of Object.entries(given)) {
    const field = `profiles.${name}`;
    if (!PROFILE_NAME_PATTERN.test(name)) note(field, 'is no name of a profile: write it in [a-z0-9_]');
    if (isShipped(name)) note(field, 'has the name of a profile that ships: choose another one');
    const parsed = StreamProfile.safeParse(profile);
    if (parsed.success) checked.set(name, parsed.data);
    else for (const { path, message } of parsed.error.issues) note([field, ...path].join('.'), message);
  }
  return checked;
}

export function ownProfiles(given: ProfileInputs = {}): OwnProfiles {
  const problems: string[] = [];
  const checked = checkProfiles(given, (field, problem) => problems.push(`${field}: ${problem}`));
  if (problems.length === 0) return checked;
  throw new PerdureError('invalid_request', `the stream profiles are invalid: ${problems.join('; ')}`);
}
