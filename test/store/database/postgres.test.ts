/** Postgres by its address: what is wrong with it is said without the password, and a break is not the end. */
import { Kysely, sql } from 'kysely';
import { beforeEach, describe, expect, inject, it, onTestFinished } from 'vitest';
import { openPostgres } from '../../../store/database/postgres-pool.js';
import type { Tables } from '../../../store/database/tables.js';
import { placeOf } from '../databases.js';
import type { Place } from '../databases.js';

describe.skipIf(inject('postgresUrl') === null)('Postgres', () => {
  let place: Place;
  let url: URL;
  beforeEach(async () => {
    place = await placeOf('postgres');
    url = new URL(place.options.url ?? '');
  });

  /** What opening it gives, after a change to its address. */
  async function refusal(edit: (address: URL) => void): Promise<{ code: unknown; message: string }> {
    edit(url);
    const error = (await place.open({ url: url.href }).catch((reason: unknown) => reason)) as Error & { code: unknown };
    expect(error).toBeInstanceOf(Error);
    expect(error.message).not.toContain(url.password);
    return { code: error.code, message: error.message };
  }

  it.each([
    ['that is none', 'mysql://ann:hunter2@127.0.0.1/x'],
    ['that is no address', 'hunter2'],
    ['of a file', 'file:///hunter2'],
  ])('is not opened by an address %s, and that is not quoted', async (_what, wrong) => {
    const opening = place.open({ url: wrong });
    await expect(opening).rejects.toMatchObject({ code: 'database_unusable' });
    await expect(opening).rejects.toThrow(/write it like postgresql:\/\/user:password@host:5432\/name/);
    await expect(opening).rejects.not.toThrow(/hunter2/);
  });

  it('that is not there can be tried again; one that refuses cannot', async () => {
    expect(await refusal((address) => (address.port = '1'))).toMatchObject({
      code: 'database_unreachable',
      message: expect.stringMatching(/^the Postgres database t_\w+ at 127\.0\.0\.1:1 cannot be used: .*ECONNREFUSED/),
    });
    url = new URL(place.options.url ?? '');
    expect(await refusal((address) => (address.pathname = '/nowhere'))).toMatchObject({
      code: 'database_unusable',
      message: expect.stringMatching(/database "nowhere" does not exist/),
    });
    url = new URL(place.options.url ?? '');
    expect(await refusal((address) => (address.password = 'hunter2'))).toMatchObject({
      code: 'database_unusable',
      message: expect.stringMatching(/password authentication failed/),
    });
  });

  it('goes on after its connections were cut, also in the middle of a transaction', async () => {
    const [database, other] = [await place.open(), await place.open()];
    // Waits until they are gone.
    const cut = () =>
      sql`select pg_terminate_backend(pid, 5000) from pg_stat_activity
          where datname = current_database() and pid <> pg_backend_pid()`.execute(other.query);
    const row = { mark: 'm', what: 'w', taken_at: 'now' };
    const change = database.change(async (changes) => {
      await changes.insertInto('taken_over').values(row).execute();
      await cut();
      await changes
        .insertInto('taken_over')
        .values({ ...row, mark: 'n' })
        .execute();
    });
    await expect(change).rejects.toMatchObject({ code: 'database_unreachable' });
    expect(await database.query.selectFrom('taken_over').selectAll().execute()).toEqual([]);
    // One that lies idle is noticed at the latest when it is used.
    await cut();
    await database.query
      .selectFrom('taken_over')
      .selectAll()
      .execute()
      .catch((error: unknown) => expect(error).toMatchObject({ code: 'database_unreachable' }));
    await database.change((changes) => changes.insertInto('taken_over').values(row).execute());
    expect(await database.query.selectFrom('taken_over').selectAll().execute()).toEqual([row]);
  });

  it('does not let a statement take for ever', async () => {
    const query = new Kysely<Tables>({ dialect: await openPostgres(url.href, 200) });
    onTestFinished(() => query.destroy());
    await expect(sql`select pg_sleep(30)`.execute(query)).rejects.toMatchObject({
      code: 'database_unreachable',
      message: expect.stringContaining('statement timeout'),
    });
    const { rows } = await sql<{
      limit: string;
    }>`select current_setting('idle_in_transaction_session_timeout') as limit`.execute(query);
    expect(rows).toEqual([{ limit: '30s' }]);
  });

  it('is asked over ten connections at most, that name themselves', async () => {
    const { query } = await place.open();
    const connections = sql<{ n: number }>`select count(*) as n from pg_stat_activity
      where datname = current_database() and application_name = 'perdure'`;
    await Promise.all(Array.from({ length: 40 }, () => sql`select pg_sleep(0.05)`.execute(query)));
    expect((await connections.execute(query)).rows).toEqual([{ n: 10 }]);
  });

  it('is asked over TLS where its address says so, and only if it is the one that is meant', async () => {
    url.searchParams.set('sslmode', 'verify-full');
    await expect(place.open({ url: url.href })).rejects.toMatchObject({
      code: 'database_unusable',
      message: expect.stringContaining('self-signed certificate'),
    });
    url.searchParams.set('sslrootcert', inject('postgresCertificate'));
    const { query } = await place.open({ url: url.href });
    const { rows } = await sql`select ssl from pg_stat_ssl where pid = pg_backend_pid()`.execute(query);
    expect(rows).toEqual([{ ssl: true }]);
  });

  it('has our tables where the search path of its address says', async () => {
    const { query } = await place.open();
    await sql`create schema apart`.execute(query);
    url.searchParams.set('options', '-c search_path=apart');
    const apart = await place.open({ url: url.href });
    const { rows } = await sql`select 1 from information_schema.tables where table_schema = 'apart'`.execute(
      apart.query,
    );
    expect(rows.length).toBeGreaterThan(5);
  });
});
