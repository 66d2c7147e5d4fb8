/** An API key as it is stored: whose it is and what it may ask for; of the key itself only a hash. */
import { z } from 'zod';
import { ORG_ID_PATTERN, ROLE_PATTERN, USER_ID_PATTERN } from './ids.js';
import { PROFILE_NAME_PATTERN } from './own-profiles.js';
import { Scope } from './scopes.js';

export const OrgId = z.string().regex(ORG_ID_PATTERN, 'may hold up to 64 letters, digits and . _ -');
export const UserId = z.string().regex(USER_ID_PATTERN, 'may hold up to 128 letters, digits and . _ : @ | + -');
export const OrgRole = z.enum(['member', 'admin']);
export type OrgRole = z.infer<typeof OrgRole>;
const OneProfile = z.string().regex(PROFILE_NAME_PATTERN, 'must be names of stream profiles, in [a-z0-9_]');
/** Of the application's own: its rules and its tools know what they mean. */
export const Roles = z
  .array(z.string().regex(ROLE_PATTERN, 'may hold up to 64 letters, digits and . _ : -'))
  .max(32, 'may be at most 32');
export const Scopes = z.array(Scope);
/** The first is the default. Whether a gateway has them is known by its configuration: it refuses those it has not. */
export const ProfileNames = z.tuple([OneProfile], OneProfile);

export const ApiKeyRecord = z.object({
  /** The part of the key between its underscores: names it in lists and logs. */
  id: z.string().regex(/^[0-9a-f]{12}$/),
  /** SHA-256 of the whole key, in hex. A key has 256 bits of chance, so that a slow hash would add nothing. */
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  org_id: OrgId,
  user_id: UserId,
  role: OrgRole,
  profiles: ProfileNames,
  /** Beside the role. */
  roles: Roles.optional(),
  /** Absent: those of its role. */
  scopes: Scopes.optional(),
  created_at: z.string(),
});
export type ApiKeyRecord = z.infer<typeof ApiKeyRecord>;

/** Version history: 1 first shape. */
export const ApiKeyFile = z.object({ version: z.literal(1), keys: z.array(ApiKeyRecord) });
export type ApiKeyFile = z.infer<typeof ApiKeyFile>;
