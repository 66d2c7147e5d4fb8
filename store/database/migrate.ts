/**
 * Brings the schema of a database up to what this code knows.
 *
 * M1  All that is missing is applied in one transaction, with its number: after a crash the version before is there.
 * M2  One process does it. Those that start at the same time wait, and find it done.
 * M3  A schema that is newer than this code is left alone, and the process does not start.
 */
import { sql } from 'kysely';
import type { Kysely } from 'kysely';
import { PerdureError } from '../../contract/errors.js';
import type { Migration } from './migrations/migration.js';
import type { Changes, Database } from './open-database.js';
import type { Tables } from './tables.js';

/** Rejects where it is newer. */
export async function isUpToDate(database: Database, migrations: readonly Migration[]): Promise<boolean> {
  return (await knownVersion(database, database.query, migrations)) === newestOf(migrations);
}

export async function upgrade(
  database: Database,
  migrations: readonly Migration[],
  report: (line: string) => void,
): Promise<void> {
  const newest = newestOf(migrations);
  const before = await database.change(
    async (changes) => {
      // Another process may have been quicker.
      const version = await knownVersion(database, changes, migrations);
      for (const migration of migrations.filter(({ number }) => number > version)) {
        await apply(database, changes, migration).catch((error: unknown) => {
          throw failed(database.place, version, migration, error);
        });
      }
      return version;
    },
    { name: 'schema' },
  );
  if (before > 0 && before < newest) report(`the database ${database.place} is upgraded to version ${newest}`);
}

function newestOf(migrations: readonly Migration[]): number {
  return migrations.at(-1)?.number ?? 0;
}

async function knownVersion(
  database: Database,
  query: Kysely<Tables>,
  migrations: readonly Migration[],
): Promise<number> {
  const [version, newest] = [await versionOf(database, query), newestOf(migrations)];
  if (version > newest) throw tooOld(database.place, version, newest);
  return version;
}

async function apply({ dialect }: Database, changes: Changes, { number, name, statements }: Migration): Promise<void> {
  for (const statement of statements(dialect)) await sql.raw(statement).execute(changes);
  const applied = { version: number, name, applied_at: new Date().toISOString() };
  await changes.insertInto('schema_versions').values(applied).execute();
}

async function versionOf({ dialect }: Database, query: Kysely<Tables>): Promise<number> {
  const found = await (
    dialect === 'sqlite'
      ? sql`select 1 from sqlite_master where type = 'table' and name = 'schema_versions'`
      : sql`select 1 where to_regclass('schema_versions') is not null`
  ).execute(query);
  if (found.rows.length === 0) return 0;
  const { version } = await query
    .selectFrom('schema_versions')
    .select(({ fn }) => fn.max('version').as('version'))
    .executeTakeFirstOrThrow();
  return Number(version);
}

function tooOld(place: string, version: number, newest: number): PerdureError {
  return new PerdureError(
    'database_unusable',
    `the database ${place} has version ${version} of our tables, and this Perdure knows them up to version ${newest}: ` +
      'it is too old. Run the newer one that made them, or restore the copy from before the upgrade',
  );
}

function failed(place: string, version: number, { number, name }: Migration, error: unknown): PerdureError {
  const why = error instanceof Error ? error.message : String(error);
  return new PerdureError(
    'database_unusable',
    `the database ${place} cannot be brought from version ${version} to version ${number} (${name}), and is as it was: ${why}`,
    { cause: error },
  );
}
