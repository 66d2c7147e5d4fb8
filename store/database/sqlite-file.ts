/**
 * The embedded default: a SQLite file that the processes of one machine share.
 *
 * S1  What was acknowledged survives a power cut: each commit is synced (`synchronous = FULL`). A revoked key must not
 *     come back, and there are few writes.
 * S2  Readers and the one writer do not wait for one another (WAL). Writers wait for one another: see
 *     `sqlite-driver.ts`.
 * S3  Only its owner reads the file, and what SQLite puts beside it.
 */
import { mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { SqliteDialect } from 'kysely';
import type { Dialect } from 'kysely';
import type libsql from 'libsql';
import { PerdureError } from '../../contract/errors.js';
import { loadDriver } from './load-driver.js';
import { createSqliteDriver } from './sqlite-driver.js';

const CACHE_KIB = 32_768;
/** What a large deletion has written beside the file does not stay there. */
const JOURNAL_BYTES = 64 * 1_024 * 1_024;

export async function openSqliteFile(path: string, patienceMs: number): Promise<Dialect> {
  const { default: Database } = await loadDriver('libsql', () => import('libsql'));
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  // Made here, since SQLite would let others read it.
  await (await open(path, 'a', 0o600)).close();
  const driver = createSqliteDriver({
    open: () => prepared(new Database(path, { timeout: 0 }), path),
    patienceMs,
    locked: (cause) => {
      const what = `another process has kept the database ${path} locked for ${patienceMs / 1_000} s`;
      return new PerdureError('database_unreachable', what, { cause });
    },
  });
  const dialect = new SqliteDialect({ database: () => Promise.reject(new Error('the driver is ours')) });
  return {
    createDriver: () => driver,
    createQueryCompiler: () => dialect.createQueryCompiler(),
    createAdapter: () => dialect.createAdapter(),
    createIntrospector: (db) => dialect.createIntrospector(db),
  };
}

function prepared(file: libsql.Database, path: string): libsql.Database {
  try {
    file.pragma('journal_mode = WAL');
    file.pragma('synchronous = FULL');
    file.pragma('foreign_keys = ON');
    file.pragma(`cache_size = -${CACHE_KIB}`);
    file.pragma(`journal_size_limit = ${JOURNAL_BYTES}`);
    return file;
  } catch (error) {
    file.close();
    if ((error as { code?: unknown }).code !== 'SQLITE_NOTADB') throw error;
    throw new PerdureError('database_unusable', `${path} is no SQLite database`, { cause: error });
  }
}
