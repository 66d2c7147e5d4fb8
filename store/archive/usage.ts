/** What the runs of a time have used: counted from the archive itself, so it is exact to the last run in it. */
import { sql } from 'kysely';
import type { RawBuilder } from 'kysely';
import type { Database } from '../database/open-database.js';
import { timeOf } from './run-order.js';

export type UsageBy = 'org' | 'user' | 'agent' | 'model' | 'day';

export interface UsageQuery {
  /** Runs that ended from this time on, and before that. */
  from: string;
  to: string;
  by: UsageBy;
  org_id?: string;
}

export interface UsageRow {
  /** What it is counted by; null: runs that have none. Days are those of UTC, like 2026-01-31. */
  key: string | null;
  /** Where it is by user: the same name in another org is another user. */
  org_id?: string | null;
  runs: number;
  steps: number;
  tool_calls: number;
  input_tokens: number;
  output_tokens: number;
  /** Of the runs whose price is known. */
  cost_usd: number;
}

const DAY_MS = 86_400_000;
const KEYS: Record<UsageBy, RawBuilder<string | number | null>> = {
  org: sql.ref('org_id'),
  user: sql.ref('created_by'),
  agent: sql.ref('agent_id'),
  model: sql.ref('model'),
  day: sql`ended_at / ${sql.lit(DAY_MS)}`,
};

export async function usage({ query }: Database, { from, to, by, org_id }: UsageQuery): Promise<UsageRow[]> {
  const key = KEYS[by];
  const sum = (column: string) => sql<number>`cast(sum(${sql.ref(column)}) as bigint)`;
  let runs = query
    .selectFrom('runs')
    .select([
      key.as('key'),
      sql<number>`cast(count(*) as bigint)`.as('runs'),
      sum('steps').as('steps'),
      sum('tool_calls').as('tool_calls'),
      sum('input_tokens').as('input_tokens'),
      sum('output_tokens').as('output_tokens'),
      sql<number>`coalesce(sum(cost_usd), 0)`.as('cost_usd'),
    ])
    .where('ended_at', '>=', timeOf(from))
    .where('ended_at', '<', timeOf(to))
    .groupBy(key);
  if (org_id !== undefined) runs = runs.where('org_id', '=', org_id);
  const rows = await (by === 'user' ? runs.select('org_id').groupBy('org_id') : runs).execute();
  return rows.map((row) => ({ ...row, key: typeof row.key === 'number' ? dayOf(row.key) : row.key })).toSorted(inOrder);
}

/** Here, since the databases have orders of their own. */
function inOrder(a: UsageRow, b: UsageRow): number {
  const [one, other] = [a, b].map(({ key, org_id }) => JSON.stringify([key, org_id ?? null])) as [string, string];
  return one < other ? -1 : 1;
}

function dayOf(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10);
}
