/** The file of the embedded default: who reads it, and how its users wait for one another. */
import { mkdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Kysely, sql } from 'kysely';
import Sqlite from 'libsql';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { openSqliteFile } from '../../../store/database/sqlite-file.js';
import type { Tables } from '../../../store/database/tables.js';
import { until } from '../../support/world.js';
import { startFixture } from '../fixture-process.js';
import { placeOf } from '../databases.js';
import type { Place } from '../databases.js';

let place: Place;
let path = '';
beforeEach(async () => {
  place = await placeOf('sqlite');
  path = join(place.options.dataDir, 'perdure.db');
});

/** Keeps others from writing. */
function lock(): () => void {
  const other = new Sqlite(path);
  other.exec('begin immediate');
  return () => {
    other.exec('commit');
    other.close();
  };
}

const mark = { mark: 'm', what: 'w', taken_at: 'now' };

describe('the file', () => {
  it('can be read by its owner only, and so can what is beside it', async () => {
    const { query } = await place.open();
    await query.insertInto('taken_over').values(mark).execute();
    expect((await stat(place.options.dataDir)).mode & 0o777).toBe(0o700);
    for (const suffix of ['', '-wal', '-shm']) expect((await stat(path + suffix)).mode & 0o777).toBe(0o600);
  });

  it('is written ahead, synced at each commit, and keeps references whole', async () => {
    const { query } = await place.open();
    const pragma = async (name: string) =>
      Object.values((await sql.raw(`pragma ${name}`).execute(query)).rows[0] ?? {});
    expect(await pragma('journal_mode')).toEqual(['wal']);
    expect(await pragma('synchronous')).toEqual([2]);
    expect(await pragma('foreign_keys')).toEqual([1]);
  });

  it('that is none is called that, and left alone', async () => {
    await mkdir(place.options.dataDir, { recursive: true });
    await writeFile(path, 'a text of somebody, and long enough to be taken for something else. '.repeat(100));
    await expect(place.open()).rejects.toMatchObject({
      code: 'database_unusable',
      message: expect.stringContaining(`${path} is no SQLite database`),
    });
    expect((await stat(path)).size).toBe(6_800);
  });
});

describe('a write while another process writes', () => {
  it('waits, and neither the event loop nor readers wait with it', async () => {
    const { query, change } = await place.open();
    await query.insertInto('taken_over').values(mark).execute();
    const free = lock();
    let ticks = 0;
    const ticking = setInterval(() => void (ticks += 1), 5);
    onTestFinished(() => clearInterval(ticking));
    const waiting = Promise.all([
      query
        .insertInto('taken_over')
        .values({ ...mark, mark: 'alone' })
        .execute(),
      change((changes) =>
        changes
          .insertInto('taken_over')
          .values({ ...mark, mark: 'in a transaction' })
          .execute(),
      ),
    ]);
    const kept = async () => (await query.selectFrom('taken_over').select('mark').execute()).map((row) => row.mark);
    await until(() => ticks >= 20, 'the event loop to turn');
    expect(await kept()).toEqual(['m']);
    free();
    await waiting;
    expect((await kept()).toSorted()).toEqual(['alone', 'in a transaction', 'm']);
  });

  it('gives up after a while, says why, and leaves a connection that works', async () => {
    await place.open();
    const query = new Kysely<Tables>({ dialect: await openSqliteFile(path, 100) });
    onTestFinished(() => query.destroy());
    const write = () => query.insertInto('taken_over').values(mark).execute();
    const change = () => query.transaction().execute((changes) => changes.deleteFrom('taken_over').execute());
    const free = lock();
    for (const refused of [write, change]) {
      await expect(refused()).rejects.toMatchObject({
        code: 'database_unreachable',
        message: expect.stringMatching(/another process has kept the database .*perdure\.db locked for 0\.1 s/),
      });
    }
    free();
    await write();
    await change();
    expect(await query.selectFrom('taken_over').selectAll().execute()).toEqual([]);
  });

  it('is not lost when the other one is killed', async () => {
    const { query } = await place.open();
    const { dataDir } = place.options;
    const writer = startFixture('write-agents', JSON.stringify({ dataDir }), 'acme', 'a', '900');
    const said = [await writer.nextLine(), await writer.nextLine()];
    for (let n = 0; n < 20; n++) {
      await query
        .insertInto('taken_over')
        .values({ ...mark, mark: `m${n}` })
        .execute();
      if (n === 10) writer.kill();
    }
    expect((await writer.ended).signal).toBe('SIGKILL');
    expect(await query.selectFrom('taken_over').selectAll().execute()).toHaveLength(20);
    const kept = (await query.selectFrom('stored_agents').select('agent_id').execute()).map((row) => row.agent_id);
    expect(kept).toEqual(expect.arrayContaining(said));
    expect((await sql<{ integrity_check: string }>`pragma integrity_check`.execute(query)).rows).toEqual([
      { integrity_check: 'ok' },
    ]);
  });
});
