/** The database of what is not a run, and of runs that are over: a SQLite file in the data folder, or Postgres. */
import { join } from 'node:path';
import { Kysely, sql } from 'kysely';
import type { Transaction } from 'kysely';
import { isUpToDate, upgrade } from './migrate.js';
import { MIGRATIONS } from './migrations/all.js';
import type { Migration } from './migrations/migration.js';
import { openPostgres, postgresPlace } from './postgres-pool.js';
import { openSqliteFile } from './sqlite-file.js';
import type { Tables } from './tables.js';

export type Changes = Transaction<Tables>;

export interface Database {
  dialect: 'sqlite' | 'postgres';
  /** For messages: the file, or the server and the name of the database. */
  place: string;
  query: Kysely<Tables>;
  /** All of it or nothing. Whoever names the same lock waits for the others. */
  change<T>(work: (changes: Changes) => Promise<T>, lock?: Lock): Promise<T>;
  close(): Promise<void>;
}

export interface Lock {
  name: string;
  /** With others that share it, and without those that do not. */
  shared?: true;
}

export interface DatabaseOptions {
  dataDir: string;
  /** Of Postgres; otherwise it is a file in the data folder. */
  url?: string | undefined;
  report(line: string): void;
  /** All there are, unless a test says otherwise. */
  migrations?: readonly Migration[];
}

/** The upper half of the keys of our locks: other programs in the same Postgres database have others. */
const LOCK_SPACE = 0x70_65_72_64;

/** How long a statement may take, and a wait for other processes. */
const PATIENCE_MS = 15_000;
/** A large table takes a while to change, and so does waiting for another process that does it. */
const UPGRADE_PATIENCE_MS = 600_000;

/** Its tables are those that this code knows, or it is not opened. */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const { report, migrations = MIGRATIONS } = options;
  const database = await connect(options, PATIENCE_MS);
  try {
    if (await isUpToDate(database, migrations)) return database;
    const upgrader = await connect(options, UPGRADE_PATIENCE_MS);
    try {
      await upgrade(upgrader, migrations, report);
    } finally {
      await upgrader.close();
    }
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

async function connect({ dataDir, url }: DatabaseOptions, patienceMs: number): Promise<Database> {
  const file = join(dataDir, 'perdure.db');
  const dialect = url === undefined ? 'sqlite' : 'postgres';
  const place = url === undefined ? file : postgresPlace(url);
  const opened = url === undefined ? openSqliteFile(file, patienceMs) : openPostgres(url, patienceMs);
  const query = new Kysely<Tables>({ dialect: await opened });
  return {
    dialect,
    place,
    query,
    change: (work, lock) =>
      query.transaction().execute(async (changes) => {
        // A transaction on SQLite is alone from its beginning.
        if (lock !== undefined && dialect === 'postgres') await acquire(changes, lock);
        return work(changes);
      }),
    close: () => query.destroy(),
  };
}

async function acquire(changes: Changes, { name, shared }: Lock): Promise<void> {
  const acquireLock = sql.raw(shared ? 'pg_advisory_xact_lock_shared' : 'pg_advisory_xact_lock');
  await sql`select ${acquireLock}(${LOCK_SPACE}, hashtext(${name}))`.execute(changes);
}
