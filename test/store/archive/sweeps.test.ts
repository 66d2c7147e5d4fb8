/** What the search for missed runs remembers: one at a time, and what could not be read is tried again later. */
import { beforeEach, expect, it, vi } from 'vitest';
import { createArchive } from '../../../store/archive/archive.js';
import type { Archive } from '../../../store/archive/archive.js';
import { onBothDatabases } from '../databases.js';
import type { Place } from '../databases.js';
import { eventsOf, runOf } from './runs.js';

onBothDatabases('the sweeps of the archive', (fresh) => {
  let place: Place;
  let archive: Archive;
  beforeEach(async () => {
    place = await fresh();
    archive = createArchive(await place.open());
  });

  it('are held by one at a time, of many that try at once, and the next begins where the last one came to', async () => {
    const archives = await Promise.all(Array.from({ length: 5 }, async () => createArchive(await place.open())));
    const held = await Promise.all(archives.map(({ sweeps }, n) => sweeps.hold('all', `holder-${n}`, 60_000)));
    expect(held.filter((each) => each !== undefined)).toEqual([{ sweptTo: undefined }]);
    const holder = `holder-${held.findIndex((each) => each !== undefined)}`;
    const { sweeps } = archive;
    expect(await sweeps.prolong('all', 'somebody else', 60_000)).toBe(false);
    expect(await sweeps.prolong('all', holder, 60_000)).toBe(true);
    await sweeps.release('all', 'somebody else', 1);
    expect(await sweeps.hold('all', 'next', 60_000)).toBeUndefined();
    expect(await sweeps.hold('other', 'next', 60_000)).toEqual({ sweptTo: undefined });
    await sweeps.release('all', holder, 1_700_000_000_000);
    expect(await sweeps.hold('all', 'next', 60_000)).toEqual({ sweptTo: 1_700_000_000_000 });
    // One that did not come to its end changes nothing.
    await sweeps.release('all', 'next', undefined);
    expect(await sweeps.hold('all', 'third', 60_000)).toEqual({ sweptTo: 1_700_000_000_000 });
  });

  it('can be taken from one that has died', async () => {
    expect(await archive.sweeps.hold('all', 'dead', 1)).toBeDefined();
    await vi.waitFor(async () => expect(await archive.sweeps.hold('all', 'alive', 60_000)).toBeDefined());
    expect(await archive.sweeps.prolong('all', 'dead', 60_000)).toBe(false);
  });

  it('try again what could not be read, later each time, until it is settled', async () => {
    const { sweeps } = archive;
    await sweeps.putOff('all', 'a', 'no worker');
    await sweeps.putOff('all', 'b', 'no worker');
    await sweeps.putOff('all', 'b', 'no worker yet');
    expect(await sweeps.due('all', 10)).toEqual([]);
    const { query } = await place.open();
    const rows = await query.selectFrom('unarchived').selectAll().orderBy('run_id').execute();
    expect(rows.map(({ run_id, tries, why }) => ({ run_id, tries, why }))).toEqual([
      { run_id: 'a', tries: 1, why: 'no worker' },
      { run_id: 'b', tries: 2, why: 'no worker yet' },
    ]);
    const [first, second] = rows.map(({ next_try_at }) => next_try_at - Date.now()) as [number, number];
    expect(second).toBeGreaterThan(first * 1.5);
    await query.updateTable('unarchived').set({ next_try_at: 0 }).execute();
    expect((await sweeps.due('all', 10)).toSorted()).toEqual(['a', 'b']);
    expect(await sweeps.due('all', 1)).toHaveLength(1);
    expect(await sweeps.due('other', 10)).toEqual([]);
    await sweeps.settle(['a', 'never there']);
    expect(await sweeps.due('all', 10)).toEqual(['b']);
  });

  it('ask which runs are missing: those that are not there, and were not deleted', async () => {
    await archive.putRun(runOf('there', { engine_status: 'FAILED', request_digest: 'abc' }), eventsOf('there'));
    await archive.putRun(runOf('deleted'), eventsOf('deleted'));
    await archive.deleteRun('deleted');
    expect(await archive.findMissing(['there', 'new', 'deleted', 'other'])).toEqual(['new', 'other']);
    expect(await archive.findMissing([])).toEqual([]);
    const summary = await archive.getSummary('there');
    expect(summary).toMatchObject({ run_id: 'there', engine_status: 'FAILED', request_digest: 'abc' });
    expect(summary).not.toHaveProperty('input');
    expect(await archive.getSummary('new')).toBeUndefined();
  });
});
