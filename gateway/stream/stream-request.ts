/** What a reader asks for, resolved: the options, the dialect, and the profile with its children. */
import { PerdureError } from '../../contract/errors.js';
import { resolveProfile } from '../../contract/profiles.js';
import type { ProfileChoice, StreamProfile } from '../../contract/profiles.js';
import type { Dialect } from '../../dialects/dialect.js';
import { DIALECTS } from '../../dialects/index.js';
import { dressFor } from '../../client/dress-events.js';
import type { Dress, Dressing } from '../../client/dress-events.js';
import { readOptions } from './read-options.js';
import type { StreamRequest } from './read-options.js';

export type Dialects = Readonly<Record<string, Dialect<unknown>>>;

export interface Asked {
  query: URLSearchParams;
  headers: Headers;
  /** The one that the principal may see. */
  profile: ProfileChoice;
  /** Absent: events are told as they are in the log. */
  dressing?: Dressing | undefined;
}

export interface ResolvedRequest {
  request: StreamRequest;
  dialect: Dialect<unknown>;
  profile: StreamProfile;
  /** What the transport adds to an event before it is told. */
  dress: Dress;
}

export function resolveRequest(asked: Asked, dialects: Dialects = DIALECTS): ResolvedRequest {
  const { query } = asked;
  const request = readOptions(query, asked.headers);
  const dialect = dialectOf(dialects, request.dialect);
  const profile = profileOf(asked.profile, request);
  return { request, dialect, profile, dress: dressFor(dialect.name, profile, asked.dressing) };
}

function dialectOf(dialects: Dialects, name: string): Dialect<unknown> {
  const dialect = Object.hasOwn(dialects, name) ? dialects[name] : undefined;
  if (dialect !== undefined) return dialect;
  const names = Object.keys(dialects).join(', ');
  throw new PerdureError('invalid_request', `dialect: there is no dialect "${name}", only ${names}`);
}

/** A reader may ask for less of child runs than its profile shows, or for their events where it shows the links. */
function profileOf(given: Asked['profile'], { children }: StreamRequest): StreamProfile {
  const profile = resolveProfile(given);
  if (children === undefined || children === profile.children) return profile;
  if (profile.children === 'invisible') {
    throw new PerdureError('invalid_request', `children: the profile of this stream does not show child runs`);
  }
  return resolveProfile({ ...profile, children });
}
