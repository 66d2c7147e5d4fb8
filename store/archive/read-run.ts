/** One run of the archive, and its log. */
import { PerdureError } from '../../contract/errors.js';
import type { Database } from '../database/open-database.js';
import { toSummary } from './archived-run.js';
import type { ArchivedRun, RunSummary } from './archived-run.js';
import { fromChunk } from './event-chunks.js';

export async function getRun({ query }: Database, runId: string): Promise<ArchivedRun | undefined> {
  const found = await query
    .selectFrom('runs')
    .innerJoin('run_texts', 'run_texts.run', 'runs.id')
    .selectAll('runs')
    .select(['input', 'answer', 'metadata'])
    .where('run_id', '=', runId)
    .executeTakeFirst();
  if (found === undefined) return undefined;
  const { input, answer, metadata, ...row } = found;
  const tools = await query
    .selectFrom('run_tools')
    .select(['tool_id', 'count', 'failures'])
    .where('run', '=', row.id)
    .orderBy('tool_id')
    .execute();
  return {
    ...toSummary(row),
    input,
    ...(answer === null ? {} : { answer }),
    ...(metadata === null ? {} : { metadata: JSON.parse(metadata) as Record<string, unknown> }),
    tools,
  };
}

export async function getSummary({ query }: Database, runId: string): Promise<RunSummary | undefined> {
  const found = await query.selectFrom('runs').selectAll().where('run_id', '=', runId).executeTakeFirst();
  return found === undefined ? undefined : toSummary(found);
}

export interface ArchivedEvent {
  seq: number;
  /** Exactly as the workflow wrote it. */
  text: string;
}

/** From `from` on, which may count from the end (-1 is the last). Rejects where the run is not there, or goes meanwhile. */
export async function* readEvents({ query }: Database, runId: string, from = 0): AsyncGenerator<ArchivedEvent> {
  const run = await query.selectFrom('runs').select(['id', 'tail']).where('run_id', '=', runId).executeTakeFirst();
  if (run === undefined) throw new PerdureError('unknown_run', `run ${runId} is not in the archive`);
  let next = from < 0 ? Math.max(0, run.tail + from) : from;
  while (next < run.tail) {
    const chunk = await query
      .selectFrom('run_events')
      .select(['first_seq', 'events'])
      .where('run', '=', run.id)
      .where('first_seq', '<=', next)
      .orderBy('first_seq', 'desc')
      .limit(1)
      .executeTakeFirst();
    const texts = chunk === undefined ? [] : (await fromChunk(chunk.events)).slice(next - chunk.first_seq);
    if (texts.length === 0) throw new PerdureError('unknown_run', `run ${runId} was deleted while it was read`);
    for (const text of texts) yield { seq: next++, text };
  }
}
