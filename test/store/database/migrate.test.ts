/** The schema: made, upgraded, and refused where it is newer. */
import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { MIGRATIONS } from '../../../store/database/migrations/all.js';
import type { Migration } from '../../../store/database/migrations/migration.js';
import { startFixture } from '../fixture-process.js';
import { onBothDatabases } from '../databases.js';
import type { Place } from '../databases.js';

const NEWEST = MIGRATIONS.length;
const next = (statements: string[]): Migration => ({
  number: NEWEST + 1,
  name: 'next',
  statements: () => statements,
});

/** Of the statements of each: a step that was released is never edited. */
const RELEASED = [
  { sqlite: '5e542a161ec10830', postgres: '5e542a161ec10830' },
  { sqlite: '8884672365a699bd', postgres: 'f5832bbcd26ed5c0' },
  { sqlite: '2e4f5cbc67f7f42a', postgres: '2e4f5cbc67f7f42a' },
  { sqlite: '9c3d1b8171534871', postgres: '9c3d1b8171534871' },
];

describe('the steps of the schema', () => {
  it('are numbered from 1, without gaps', () => {
    expect(MIGRATIONS.map(({ number }) => number)).toEqual(MIGRATIONS.map((_, n) => n + 1));
  });

  it('are what they were when they were released', () => {
    const marks = MIGRATIONS.map(({ statements }) => ({
      sqlite: markOf(statements('sqlite')),
      postgres: markOf(statements('postgres')),
    }));
    expect(marks).toEqual(RELEASED);
  });
});

function markOf(statements: readonly string[]): string {
  const text = statements.join(';').replaceAll(/\s+/g, ' ');
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

onBothDatabases('a schema', (fresh) => {
  let place: Place;
  beforeEach(async () => {
    place = await fresh();
  });
  const versions = async (query: Awaited<ReturnType<Place['open']>>['query']) =>
    (await query.selectFrom('schema_versions').select('version').orderBy('version').execute()).map(
      (row) => row.version,
    );

  it('is made once by ten processes that start at the same time on an empty database', async () => {
    const { dataDir, url } = place.options;
    const processes = Array.from({ length: 10 }, () => startFixture('open-database', JSON.stringify({ dataDir, url })));
    await Promise.all(processes.map((each) => each.nextLine()));
    for (const each of processes) each.tell('go');
    const all = MIGRATIONS.map(({ number }) => number).join(' ');
    expect(await Promise.all(processes.map((each) => each.nextLine()))).toEqual(processes.map(() => all));
    for (const { ended } of processes) expect(await ended).toMatchObject({ code: 0, errors: '' });
  });

  it('of the version before is upgraded in place, and that is said; what it holds stays', async () => {
    const old = await place.open({ migrations: MIGRATIONS.slice(0, 1) });
    const key = { id: 'k', hash: 'h', org_id: 'o', user_id: 'u', role: 'member', profiles: '[]', created_at: 'then' };
    await old.query
      .insertInto('api_keys')
      .values({ ...key, roles: null, scopes: null, revoked_at: null })
      .execute();
    expect(await versions(old.query)).toEqual([1]);
    expect(place.said).toEqual([]);
    const database = await place.open();
    expect(await versions(database.query)).toEqual(MIGRATIONS.map(({ number }) => number));
    expect(await database.query.selectFrom('api_keys').selectAll().execute()).toEqual([
      { ...key, roles: null, scopes: null, revoked_at: null },
    ]);
    expect(place.said).toEqual([`the database ${database.place} is upgraded to version ${NEWEST}`]);
    // Whoever still runs goes on.
    expect(await old.query.selectFrom('api_keys').select('id').execute()).toEqual([{ id: 'k' }]);
  });

  it('that is newer is left alone: the process is told that it is too old, with both versions, and what to do', async () => {
    const newer = await place.open({ migrations: [...MIGRATIONS, next(['create table later (id integer)'])] });
    await expect(place.open()).rejects.toMatchObject({
      code: 'database_unusable',
      message: expect.stringMatching(
        new RegExp(
          `has version ${NEWEST + 1} of our tables.* up to version ${NEWEST}: it is too old. Run the newer one`,
        ),
      ),
    });
    expect(await versions(newer.query)).toHaveLength(NEWEST + 1);
  });

  it('that cannot be upgraded is as it was, with nothing of the step that failed', async () => {
    const database = await place.open();
    const broken = next(['create table later (id integer)', 'insert into later values (1)', 'select * from nowhere']);
    await expect(place.open({ migrations: [...MIGRATIONS, broken] })).rejects.toMatchObject({
      code: 'database_unusable',
      message: expect.stringMatching(
        new RegExp(
          `cannot be brought from version ${NEWEST} to version ${NEWEST + 1} \\(next\\), and is as it was: .*nowhere`,
        ),
      ),
    });
    expect(await versions(database.query)).toHaveLength(NEWEST);
    await expect(sql`select * from later`.execute(database.query)).rejects.toThrow(/later/);
  });

  it('that met a table of somebody else is not made, and theirs is not touched', async () => {
    const database = await place.open({ migrations: [] });
    await sql`create table feedback (stars integer)`.execute(database.query);
    await expect(place.open()).rejects.toThrow(/feedback.* already exists|already exists.*feedback/);
    await expect(sql`select * from api_keys`.execute(database.query)).rejects.toThrow(/api_keys/);
    expect((await sql`select * from feedback`.execute(database.query)).rows).toEqual([]);
  });

  it('has every index that lists of runs are read by', async () => {
    const { query } = await place.open();
    const names =
      place.dialect === 'sqlite'
        ? sql<{ name: string }>`select name from sqlite_master where type = 'index' and name not like 'sqlite_%'`
        : sql<{ name: string }>`select indexname as name from pg_indexes where schemaname = 'public'`;
    const found = (await names.execute(query)).rows.map(({ name }) => name);
    expect(found).toEqual(
      expect.arrayContaining(['runs_by_org', 'runs_by_user', 'runs_by_agent', 'runs_by_thread', 'run_tools_by_tool']),
    );
  });
});
