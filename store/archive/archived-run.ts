/** A run that is over, as the archive has it. Its log is beside it. */
import type { Selectable } from 'kysely';
import type { RunPhase } from '../../contract/run.js';
import type { RunsTable } from '../database/tables.js';
import { timeOf } from './run-order.js';

export interface ToolUse {
  tool_id: string;
  count: number;
  failures: number;
}

/** What lists show of a run. */
export interface RunSummary {
  run_id: string;
  agent_id: string;
  root_run_id: string;
  parent_run_id?: string;
  thread_id?: string;
  /** Absent: it belongs to no org. */
  org_id?: string;
  created_by?: string;
  /** The last one: of a run that ended in the engine, it has no end in its log, and its phase is the one it was in. */
  status: 'success' | 'failed' | 'canceled' | 'terminated' | 'timed_out' | 'engine_failed';
  phase: RunPhase;
  started_at: string;
  ended_at: string;
  steps: number;
  tool_calls: number;
  /** Its own, without those of its children. */
  input_tokens: number;
  output_tokens: number;
  /** Absent where no price is known. */
  cost_usd?: number;
  model?: string;
  failure_code?: string;
  /** Number of events in the log. */
  tail: number;
  /** How Temporal says that it ended, in its words, like COMPLETED. */
  engine_status?: string;
  /** Of the request that started it, where the starter gave one. */
  request_digest?: string;
}

export interface ArchivedRun extends RunSummary {
  /** Of a list of parts, the texts. */
  input: string;
  answer?: string;
  metadata?: Record<string, unknown>;
  tools: ToolUse[];
}

type RunRow = Selectable<RunsTable>;

export function toRow(run: Omit<ArchivedRun, 'tail'>, tail: number): Omit<RunRow, 'id'> {
  return {
    run_id: run.run_id,
    agent_id: run.agent_id,
    root_run_id: run.root_run_id,
    parent_run_id: run.parent_run_id ?? null,
    thread_id: run.thread_id ?? null,
    org_id: run.org_id ?? null,
    created_by: run.created_by ?? null,
    status: run.status,
    phase: run.phase,
    started_at: timeOf(run.started_at),
    ended_at: timeOf(run.ended_at),
    steps: run.steps,
    tool_calls: run.tool_calls,
    input_tokens: run.input_tokens,
    output_tokens: run.output_tokens,
    cost_usd: run.cost_usd ?? null,
    model: run.model ?? null,
    failure_code: run.failure_code ?? null,
    tail,
    engine_status: run.engine_status ?? null,
    request_digest: run.request_digest ?? null,
  };
}

export function toSummary({ id: _id, ...row }: RunRow): RunSummary {
  const given = Object.entries(row).filter(([, value]) => value !== null);
  const times = { started_at: textOf(row.started_at), ended_at: textOf(row.ended_at) };
  return { ...Object.fromEntries(given), ...times } as RunSummary;
}

function textOf(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}
