/**
 * Puts a run that is over into the archive.
 *
 * P1  It is there once, and whole, or not at all: the run, its texts, its tools, its words and its log are one
 *     transaction, and its id is unique. Whoever comes second changes nothing.
 * P2  What was deleted does not come back by a late write: see `delete-runs.ts`.
 */
import { sql } from 'kysely';
import { PerdureError } from '../../contract/errors.js';
import type { Changes, Database } from '../database/open-database.js';
import type { RunsTable } from '../database/tables.js';
import { toRow } from './archived-run.js';
import type { ArchivedRun } from './archived-run.js';
import { isDeleted, DELETIONS } from './delete-runs.js';
import { toChunks } from './event-chunks.js';
import { idsOf } from './run-order.js';
import { wordsOf } from './words-of.js';

export type PutResult = 'stored' | 'present' | 'deleted';

export async function putRun(
  database: Database,
  run: Omit<ArchivedRun, 'tail'>,
  events: Iterable<string> | AsyncIterable<string>,
): Promise<PutResult> {
  // Before anything is locked: the events may come from afar.
  const { chunks, tail } = await toChunks(events);
  return database.change(
    async (changes) => {
      if (await isDeleted(changes, run)) return 'deleted';
      const row = await insertRun(changes, toRow(run, tail));
      if (row === undefined) return 'present';
      await changes
        .insertInto('run_texts')
        .values({
          run: row,
          input: run.input,
          answer: run.answer ?? null,
          metadata: run.metadata === undefined ? null : JSON.stringify(run.metadata),
        })
        .execute();
      await putWords(database, changes, row, wordsOf(run.input, run.answer));
      for (const { tool_id, count, failures } of run.tools) {
        await changes.insertInto('run_tools').values({ run: row, tool_id, count, failures }).execute();
      }
      for (const chunk of chunks)
        await changes
          .insertInto('run_events')
          .values({ run: row, ...chunk })
          .execute();
      return 'stored';
    },
    { ...DELETIONS, shared: true },
  );
}

/** Its id; undefined where the run is there. */
async function insertRun(changes: Changes, row: Omit<RunsTable, 'id'>): Promise<number | undefined> {
  for (const id of idsOf(row.started_at)) {
    const { numInsertedOrUpdatedRows } = await changes
      .insertInto('runs')
      .values({ id, ...row })
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirst();
    if (numInsertedOrUpdatedRows === 1n) return id;
    const there = await changes.selectFrom('runs').select('id').where('run_id', '=', row.run_id).executeTakeFirst();
    if (there !== undefined) return undefined;
  }
  throw new PerdureError('internal', `run ${row.run_id} started in a millisecond with too many others`);
}

async function putWords({ dialect }: Database, changes: Changes, run: number, words: string[]): Promise<void> {
  if (dialect === 'sqlite') {
    await sql`insert into run_words (rowid, words) values (${run}, ${words.join(' ')})`.execute(changes);
  } else {
    await sql`insert into run_words values (${run}, array_to_tsvector(${words}::text[]))`.execute(changes);
  }
}
