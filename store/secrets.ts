/** Secrets that all gateways of one database share. Whoever can write to the database could let itself in anyway. */
import { randomBytes } from 'node:crypto';
import type { Database } from './database/open-database.js';

export interface Secrets {
  /** 256 bits, made by the first who asks for them. */
  of(name: 'file_urls'): Promise<Uint8Array>;
}

const BYTES = 32;

export function createSecrets({ query, place }: Database): Secrets {
  return {
    async of(name) {
      const made = { name, secret: randomBytes(BYTES).toString('base64url'), created_at: new Date().toISOString() };
      // Of several who begin at once, one is first; all use what it made.
      await query
        .insertInto('secrets')
        .values(made)
        .onConflict((conflict) => conflict.column('name').doNothing())
        .execute();
      const { secret } = await query
        .selectFrom('secrets')
        .select('secret')
        .where('name', '=', name)
        .executeTakeFirstOrThrow();
      const bytes = Buffer.from(secret, 'base64url');
      if (bytes.length >= BYTES) return bytes;
      throw new Error(
        `the secret "${name}" in ${place} is shorter than ${BYTES} bytes: delete its row, and it is made anew`,
      );
    },
  };
}
