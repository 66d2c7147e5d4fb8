/**
 * The archive is written from here on. A run also says how the engine ended it, and by which request it was started:
 * both are asked for when it is read, and Temporal does not know them for ever. `sweeps` remembers how far each search
 * for runs that were missed has come, and who is searching; `unarchived` those that were found and could not be read.
 */
import type { Migration } from './migration.js';

export const archiveSweeps: Migration = {
  number: 3,
  name: 'archive-sweeps',
  statements: () => [
    'alter table runs add column engine_status text',
    'alter table runs add column request_digest text',
    `create table sweeps (
      name text primary key,
      swept_to bigint,
      holder text,
      held_until bigint not null
    )`,
    `create table unarchived (
      run_id text primary key,
      sweep text not null,
      tries integer not null,
      next_try_at bigint not null,
      why text not null
    )`,
    'create index unarchived_by_next_try on unarchived (sweep, next_try_at)',
  ],
};
