/** Which of some runs are still to be taken in. What was deleted by its own id is not missed. */
import type { Database } from '../database/open-database.js';

export async function findMissing({ query }: Database, runIds: readonly string[]): Promise<string[]> {
  if (runIds.length === 0) return [];
  const present = await query.selectFrom('runs').select('run_id').where('run_id', 'in', runIds).execute();
  const deleted = await query
    .selectFrom('deletions')
    .select('id')
    .where('kind', '=', 'run')
    .where('id', 'in', runIds)
    .execute();
  const known = new Set([...present.map(({ run_id }) => run_id), ...deleted.map(({ id }) => id)]);
  return runIds.filter((runId) => !known.has(runId));
}
