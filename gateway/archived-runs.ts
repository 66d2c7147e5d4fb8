/** Runs that have ended, found in the archive by what they were, did, said and cost. */
import type { z } from 'zod';
import type { ListedRun, RunPage } from '../client/index.js';
import { PerdureError } from '../contract/errors.js';
import type { DurableEvent } from '../contract/events.js';
import { applyProfile } from '../contract/profiles.js';
import type { StreamProfile } from '../contract/profiles.js';
import type { ListedRun as ArchivedRun } from '../store/archive/list-runs.js';
import { chooseProfile } from './principal.js';
import type { Principal } from './principal.js';
import type { RouteTools } from './route.js';
import type { RunQuery } from './shapes/run-list.js';

type Query = z.infer<typeof RunQuery>;

/** What only the archive can answer. */
const OF_ARCHIVE = ['status', 'tool_id', 'text', 'min_cost_usd', 'max_cost_usd', 'created_by'] as const;
/** What only a run that goes on has. */
const OF_OPEN = ['phase', 'waiting'] as const;
const DEFAULT_LIMIT = 50;

const ENGINE_STATUS: Record<string, ListedRun['engine_status']> = {
  COMPLETED: 'completed',
  FAILED: 'failed',
  CANCELLED: 'canceled',
  TERMINATED: 'terminated',
  TIMED_OUT: 'timed_out',
  success: 'completed',
  canceled: 'canceled',
  terminated: 'terminated',
  timed_out: 'timed_out',
};

export function asksArchive(query: Query): boolean {
  const asked = query.archived === 'true' || OF_ARCHIVE.some((name) => query[name] !== undefined);
  const wrong = asked ? OF_OPEN.find((name) => query[name] !== undefined) : undefined;
  if (wrong !== undefined) throw invalid(wrong, 'is of runs that go on, and what else is asked for only of ended ones');
  const [other] = OF_ARCHIVE.filter((name) => query[name] !== undefined);
  if (query.archived === 'false' && other !== undefined) throw invalid(other, 'is only known of ended runs');
  return asked;
}

/** As whoever may read runs of the org sees them. Turns are in their threads, which have readers of their own. */
export async function findArchived(
  { records, catalog }: Pick<RouteTools, 'records' | 'catalog'>,
  principal: Principal,
  query: Query,
): Promise<RunPage> {
  const shows = shownOf(chooseProfile(catalog, principal, query.profile));
  if (query.text !== undefined && !(shows.input && shows.answer)) {
    throw new PerdureError('forbidden', 'text: it is searched in inputs and answers, and your profile hides them');
  }
  if ((query.min_cost_usd ?? query.max_cost_usd) !== undefined && !shows.cost) {
    throw new PerdureError('forbidden', 'min_cost_usd, max_cost_usd: your profile hides what runs cost');
  }
  const { agent_id, thread_id, created_by, status, tool_id, text } = query;
  const { created_after, created_before, min_cost_usd, max_cost_usd } = query;
  const filter = {
    ...(principal.kind === 'local' ? {} : { org_id: principal.org_id }),
    ...given({ agent_id, thread_id, created_by, status, tool_id, text }),
    ...given({ started_from: created_after, started_before: created_before }),
    ...(min_cost_usd === undefined ? {} : { min_cost_usd: Number(min_cost_usd) }),
    ...(max_cost_usd === undefined ? {} : { max_cost_usd: Number(max_cost_usd) }),
    roots: true,
    turns: false,
  };
  const { runs, ...next } = await records.archive.listRuns(filter, query.cursor, Number(query.limit ?? DEFAULT_LIMIT));
  return { runs: runs.map((run) => listed(run, shows)), ...next };
}

function listed(run: ArchivedRun, shows: Shows): ListedRun {
  const { run_id, agent_id, phase, thread_id, created_by, started_at, ended_at, engine_status, status } = run;
  const { steps, tool_calls, input_tokens, output_tokens, cost_usd, model, failure_code, input_start } = run;
  return {
    run_id,
    agent_id,
    phase,
    ...given({ thread_id, created_by }),
    engine_status: ENGINE_STATUS[engine_status ?? status] ?? 'failed',
    created_at: started_at,
    ended_at,
    ...given({ status, steps, tool_calls, input_tokens, output_tokens }),
    ...given({ cost_usd: shows.cost ? cost_usd : undefined, model: shows.model ? model : undefined, failure_code }),
    ...given({ input_start: shows.input ? input_start : undefined }),
  };
}

type Shows = Record<'input' | 'answer' | 'cost' | 'model', boolean>;

/** What the profile would show of a run's log. */
function shownOf(profile: StreamProfile): Shows {
  const text = 'shown';
  const tokens = { input_tokens: 0, output_tokens: 0, total_tokens: 0 };
  const usage = { model_calls: 0, tool_calls: 0, ...tokens, cost_usd: 1 };
  const of = { seq: 0, event_id: ':0', at: new Date(0).toISOString(), run_id: '', agent_id: '', root_run_id: '' };
  const ending = { usage, tree_usage: usage, duration_ms: 0 };
  const outcome = { status: 'success', phase: 'completed', answer: text } as const;
  const started: DurableEvent = { type: 'run_started', ...of, input: text };
  const ended: DurableEvent = { type: 'run_completed', ...of, ...outcome, ...ending };
  const used: DurableEvent = { type: 'usage_recorded', ...of, usage: { model: text, ...tokens } };
  const [seen, said, counted] = [started, ended, used].map((event) => applyProfile(profile, event));
  return {
    input: seen?.type === 'run_started' && seen.input === text,
    answer: said?.type === 'run_completed' && said.status === 'success' && said.answer === text,
    cost: said?.type === 'run_completed' && said.usage.cost_usd === 1,
    model: counted?.type === 'usage_recorded' && counted.usage.model === text,
  };
}

function given<T extends Record<string, unknown>>(fields: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: NonNullable<T[K]>;
  };
}

function invalid(path: string, message: string): PerdureError {
  return new PerdureError('invalid_request', `${path}: ${message}`, { issues: [{ path, message }] });
}
