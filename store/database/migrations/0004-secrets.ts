/**
 * Secrets that all gateways of one database share, and that nobody has to make: the first one that needs a secret makes
 * it. The first is the key that signs addresses of files.
 */
import type { Migration } from './migration.js';

export const secrets: Migration = {
  number: 4,
  name: 'secrets',
  statements: () => [
    `create table secrets (
      name text primary key,
      secret text not null,
      created_at text not null
    )`,
  ],
};
