/** Lists of archived runs, the newest first, page by page. A page begins where the one before it ended. */
import { sql } from 'kysely';
import type { SelectQueryBuilder } from 'kysely';
import { PerdureError } from '../../contract/errors.js';
import type { Database } from '../database/open-database.js';
import type { Tables } from '../database/tables.js';
import { toSummary } from './archived-run.js';
import type { RunSummary } from './archived-run.js';
import { firstIdAt, timeOf } from './run-order.js';
import { wordsOf } from './words-of.js';

export interface ArchiveFilter {
  org_id?: string;
  created_by?: string;
  agent_id?: string;
  thread_id?: string;
  /** The run itself and all below it. */
  root_run_id?: string;
  /** Only those that no other run started. */
  roots?: boolean;
  /** False: none that are turns of threads, nor below one. */
  turns?: boolean;
  status?: RunSummary['status'];
  /** From this time on, and before that. */
  started_from?: string;
  started_before?: string;
  tool_id?: string;
  /** All of these words, or words that begin so, in input or answer. */
  text?: string;
  min_cost_usd?: number;
  max_cost_usd?: number;
}

export interface ListedRun extends RunSummary {
  /** How its input begins. */
  input_start: string;
}

export interface ArchivePage {
  runs: ListedRun[];
  /** Absent on the last page. */
  next_cursor?: string;
}

const START_CHARACTERS = 200;
const MOST_LISTED = 500;
/** A shorter one would be the beginning of too many. */
const SHORTEST_BEGINNING = 3;

type Runs = SelectQueryBuilder<Tables, 'runs', object>;

export async function listRuns(
  database: Database,
  filter: ArchiveFilter,
  cursor: string | undefined,
  limit: number,
): Promise<ArchivePage> {
  if (!Number.isInteger(limit) || limit < 1 || limit > MOST_LISTED) {
    throw new PerdureError('invalid_request', `a page has 1 to ${MOST_LISTED} runs, and not ${limit}`);
  }
  const rows = await matching(database, filter, cursor)
    .selectAll('runs')
    .limit(limit + 1)
    .execute();
  const shown = rows.slice(0, limit);
  const last = rows.length > limit ? shown.at(-1) : undefined;
  const starts = await startsOf(database, shown);
  return {
    runs: shown.map((row) => ({ ...toSummary(row), input_start: starts.get(row.id) ?? '' })),
    ...(last === undefined ? {} : { next_cursor: toCursor(last.id) }),
  };
}

/** Asked for apart: in one question with the list, SQLite begins with the texts of all runs. */
async function startsOf({ query }: Database, rows: { id: number }[]): Promise<Map<number, string>> {
  if (rows.length === 0) return new Map();
  const ids = rows.map(({ id }) => id);
  const start = sql<string>`substr(input, 1, ${sql.lit(START_CHARACTERS)})`.as('start');
  const texts = await query.selectFrom('run_texts').select(['run', start]).where('run', 'in', ids).execute();
  return new Map(texts.map((text) => [text.run, text.start]));
}

function matching(database: Database, filter: ArchiveFilter, cursor: string | undefined): Runs {
  const { org_id, created_by, agent_id, thread_id, root_run_id, status } = filter;
  let runs: Runs = database.query.selectFrom('runs');
  for (const [column, value] of Object.entries({ org_id, created_by, agent_id, thread_id, root_run_id, status })) {
    if (value !== undefined) runs = runs.where(column as 'org_id', '=', value);
  }
  const { roots, turns, started_from, started_before, min_cost_usd, max_cost_usd, tool_id, text } = filter;
  if (roots === true) runs = runs.where('parent_run_id', 'is', null);
  // Only theirs, and those of children, have one in their ids: `contract/thread-ids.ts`.
  if (turns === false) runs = runs.where('root_run_id', 'not like', '%/%');
  if (started_from !== undefined) runs = runs.where('id', '>=', firstIdAt(timeOf(started_from)));
  if (started_before !== undefined) runs = runs.where('id', '<', firstIdAt(timeOf(started_before)));
  if (cursor !== undefined) runs = runs.where('id', '<', fromCursor(cursor));
  if (min_cost_usd !== undefined) runs = runs.where('cost_usd', '>=', min_cost_usd);
  if (max_cost_usd !== undefined) runs = runs.where('cost_usd', '<=', max_cost_usd);
  if (tool_id !== undefined) {
    runs = runs.innerJoin('run_tools', 'run_tools.run', 'runs.id').where('run_tools.tool_id', '=', tool_id) as Runs;
  }
  if (text !== undefined) return search(database, runs, wordsOf(text));
  // The id is the same in both. SQLite goes by the index of the one that is named.
  return runs.orderBy(tool_id === undefined ? sql.ref('runs.id') : sql.ref('run_tools.run'), 'desc');
}

/** A search for nothing finds nothing. */
function search({ dialect }: Database, runs: Runs, words: string[]): Runs {
  if (words.length === 0) return runs.where(sql<boolean>`1 = 0`);
  return dialect === 'sqlite' ? searchSqlite(runs, words) : searchPostgres(runs, words);
}

function searchSqlite(runs: Runs, words: string[]): Runs {
  const match = words.map((word) => `"${word}"${isBeginning(word) ? '*' : ''}`).join(' ');
  const found = sql<{ rowid: number }>`run_words`.as<'found'>(sql.raw('found'));
  return runs
    .innerJoin(found, 'found.rowid', 'runs.id')
    .where(sql<boolean>`found.run_words match ${match}`)
    .orderBy('found.rowid', 'desc') as unknown as Runs;
}

function searchPostgres(runs: Runs, words: string[]): Runs {
  const match = words.map((word) => `'${word}'${isBeginning(word) ? ':*' : ''}`).join(' & ');
  const found = sql<boolean>`runs.id in (select run from run_words where words @@ ${match}::tsquery)`;
  return runs.where(found).orderBy('id', 'desc');
}

function isBeginning(word: string): boolean {
  return word.length >= SHORTEST_BEGINNING;
}

function toCursor(id: number): string {
  return Buffer.from(String(id)).toString('base64url');
}

function fromCursor(cursor: string): number {
  const id = Buffer.from(cursor, 'base64url').toString();
  if (!/^\d{1,16}$/.test(id)) throw new PerdureError('invalid_request', 'the cursor is none that a list has given');
  return Number(id);
}
