/**
 * Deletes runs from the archive, with all that belongs to them.
 *
 * D1  What is deleted stays so: a deletion is written down, and what it means is not taken in any more, however late its
 *     writer comes. Of an org and of a user, it means the runs that had begun by then. Of a thread it means its turns,
 *     and of the runs that somebody else started in its name those that had begun by then: else a run in the name of
 *     one's own deleted thread would be in no list and in no sum.
 * D2  No writer slips through: it holds the lock together with other writers, and a deletion is written down without
 *     any of them. From then on there is nothing new to be found.
 * D3  Many runs go in several transactions, so that nobody waits long. After a crash the same call goes on.
 */
import type { Expression, ExpressionBuilder, SqlBool } from 'kysely';
import type { Changes, Database } from '../database/open-database.js';
import type { Tables } from '../database/tables.js';
import { threadOfRun } from '../../contract/thread-ids.js';
import type { ArchivedRun } from './archived-run.js';
import { timeOf } from './run-order.js';

export const DELETIONS = { name: 'deletions' };

const BATCH = 200;

/** Users are those of an org; of none, where it is null. */
export type Deletion =
  { run_id: string } | { thread_id: string } | { org_id: string } | { org_id: string | null; user_id: string };

/** How many of the archive's runs went. */
export async function deleteRuns(database: Database, deletion: Deletion): Promise<number> {
  const mark = { ...markOf(deletion), deleted_at: Date.now() };
  await database.change(
    (changes) =>
      changes
        .insertInto('deletions')
        .values(mark)
        .onConflict((conflict) => conflict.columns(['kind', 'id']).doUpdateSet({ deleted_at: mark.deleted_at }))
        .execute(),
    DELETIONS,
  );
  const meant = database.query
    .selectFrom('runs')
    .select('id')
    .where((run) => isMeant(run, deletion))
    .$if(mark.kind === 'org' || mark.kind === 'user', (runs) => runs.where('started_at', '<=', mark.deleted_at))
    .limit(BATCH);
  for (let deleted = 0; ;) {
    const gone = await database.query.deleteFrom('runs').where('id', 'in', meant).executeTakeFirst();
    if (gone.numDeletedRows === 0n) return deleted;
    deleted += Number(gone.numDeletedRows);
  }
}

export async function isDeleted(changes: Changes, run: Omit<ArchivedRun, 'tail'>): Promise<boolean> {
  const { run_id, thread_id, org_id, created_by } = run;
  const marks = [
    markOf({ run_id }),
    ...(thread_id === undefined ? [] : [markOf({ thread_id })]),
    ...(org_id === undefined ? [] : [markOf({ org_id })]),
    ...(created_by === undefined ? [] : [markOf({ org_id: org_id ?? null, user_id: created_by })]),
  ];
  const found = await changes
    .selectFrom('deletions')
    .select('kind')
    .where(({ and, or, eb }) =>
      or(
        marks.map((mark) => {
          const isTurn = mark.kind === 'thread' && threadOfRun(run_id) === thread_id;
          const late = endsWithTime(mark) && !isTurn ? [eb('deleted_at', '>=', timeOf(run.started_at))] : [];
          return and([eb('kind', '=', mark.kind), eb('id', '=', mark.id), ...late]);
        }),
      ),
    )
    .executeTakeFirst();
  return found !== undefined;
}

function isMeant(run: ExpressionBuilder<Tables, 'runs'>, deletion: Deletion): Expression<SqlBool> {
  if ('run_id' in deletion) return run('run_id', '=', deletion.run_id);
  if ('thread_id' in deletion) return run('thread_id', '=', deletion.thread_id);
  const ofOrg = run('org_id', deletion.org_id === null ? 'is' : '=', deletion.org_id);
  return 'user_id' in deletion ? run.and([ofOrg, run('created_by', '=', deletion.user_id)]) : ofOrg;
}

/** A run has its id once; all else may be named again. */
function endsWithTime({ kind }: { kind: string }): boolean {
  return kind !== 'run';
}

function markOf(deletion: Deletion): { kind: string; id: string } {
  if ('run_id' in deletion) return { kind: 'run', id: deletion.run_id };
  if ('thread_id' in deletion) return { kind: 'thread', id: deletion.thread_id };
  if ('user_id' in deletion) return { kind: 'user', id: JSON.stringify([deletion.org_id, deletion.user_id]) };
  return { kind: 'org', id: deletion.org_id };
}
