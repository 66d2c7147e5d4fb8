/** The same tests on both databases: each test has an empty one. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, inject, onTestFinished } from 'vitest';
import { openDatabase } from '../../store/database/open-database.js';
import type { Database, DatabaseOptions } from '../../store/database/open-database.js';
import { createDatabase } from '../support/postgres.js';

export interface Place {
  dialect: 'sqlite' | 'postgres';
  options: DatabaseOptions;
  /** What was reported. */
  said: string[];
  /** Opened once more, as another process would; closed when the test ends. */
  open(more?: Partial<DatabaseOptions>): Promise<Database>;
}

export function onBothDatabases(what: string, tests: (fresh: () => Promise<Place>) => void): void {
  describe.each(['sqlite', 'postgres'] as const)(`${what}, on %s`, (dialect) => {
    describe.skipIf(dialect === 'postgres' && inject('postgresUrl') === null)('as it is', () => {
      tests(() => placeOf(dialect));
    });
  });
}

export async function placeOf(dialect: Place['dialect']): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-store-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const url = dialect === 'postgres' ? await createDatabase(inject('postgresUrl') ?? '') : undefined;
  const said: string[] = [];
  const options: DatabaseOptions = { dataDir: join(folder, 'data'), url, report: (line) => void said.push(line) };
  return {
    dialect,
    options,
    said,
    async open(more = {}) {
      const database = await openDatabase({ ...options, ...more });
      onTestFinished(() => database.close());
      return database;
    },
  };
}
