/**
 * What a search for runs that were missed remembers from one time to the next.
 *
 * W1  One searches at a time: it holds the sweep for a while, and prolongs that as it goes. Where its process dies,
 *     another one may begin when the time is over.
 * W2  Runs that ended before `swept_to` are in the archive, or are among those that could not be read, which are tried
 *     again later, ever more seldom. So one run that nobody can read does not hold up the search.
 */
import type { Database } from '../database/open-database.js';

export interface Sweeps {
  /** Undefined where somebody else is at it. `sweptTo` is undefined the first time. */
  hold(name: string, holder: string, forMs: number): Promise<{ sweptTo: number | undefined } | undefined>;
  /** False where it was lost to somebody else. */
  prolong(name: string, holder: string, forMs: number): Promise<boolean>;
  /** `sweptTo` undefined: it did not come to its end, and begins where this one did. */
  release(name: string, holder: string, sweptTo: number | undefined): Promise<void>;
  /** It could not be read, and is to be tried again. */
  putOff(name: string, runId: string, why: string): Promise<void>;
  /** Those whose time has come. */
  due(name: string, limit: number): Promise<string[]>;
  /** They are in the archive, or gone for good. */
  settle(runIds: readonly string[]): Promise<void>;
}

const FIRST_TRY_AGAIN_MS = 60_000;
const SLOWEST_TRY_AGAIN_MS = 6 * 3_600_000;

export function createSweeps({ query }: Database): Sweeps {
  return {
    async hold(name, holder, forMs) {
      const now = Date.now();
      await query
        .insertInto('sweeps')
        .values({ name, swept_to: null, holder: null, held_until: 0 })
        .onConflict((conflict) => conflict.column('name').doNothing())
        .execute();
      const { numUpdatedRows } = await query
        .updateTable('sweeps')
        .set({ holder, held_until: now + forMs })
        .where('name', '=', name)
        .where((row) => row.or([row('held_until', '<=', now), row('holder', '=', holder)]))
        .executeTakeFirst();
      if (numUpdatedRows !== 1n) return undefined;
      const row = await query.selectFrom('sweeps').select('swept_to').where('name', '=', name).executeTakeFirst();
      return { sweptTo: row?.swept_to ?? undefined };
    },
    async prolong(name, holder, forMs) {
      const { numUpdatedRows } = await query
        .updateTable('sweeps')
        .set({ held_until: Date.now() + forMs })
        .where('name', '=', name)
        .where('holder', '=', holder)
        .executeTakeFirst();
      return numUpdatedRows === 1n;
    },
    async release(name, holder, sweptTo) {
      await query
        .updateTable('sweeps')
        .set({ holder: null, held_until: 0, ...(sweptTo === undefined ? {} : { swept_to: sweptTo }) })
        .where('name', '=', name)
        .where('holder', '=', holder)
        .execute();
    },
    async putOff(name, runId, why) {
      const found = await query.selectFrom('unarchived').select('tries').where('run_id', '=', runId).executeTakeFirst();
      const tries = (found?.tries ?? 0) + 1;
      const next_try_at = Date.now() + Math.min(SLOWEST_TRY_AGAIN_MS, FIRST_TRY_AGAIN_MS * 2 ** (tries - 1));
      await query
        .insertInto('unarchived')
        .values({ run_id: runId, sweep: name, tries, next_try_at, why })
        .onConflict((conflict) => conflict.column('run_id').doUpdateSet({ tries, next_try_at, why }))
        .execute();
    },
    async due(name, limit) {
      const rows = await query
        .selectFrom('unarchived')
        .select('run_id')
        .where('sweep', '=', name)
        .where('next_try_at', '<=', Date.now())
        .orderBy('next_try_at')
        .limit(limit)
        .execute();
      return rows.map(({ run_id }) => run_id);
    },
    async settle(runIds) {
      if (runIds.length === 0) return;
      await query.deleteFrom('unarchived').where('run_id', 'in', runIds).execute();
    },
  };
}
