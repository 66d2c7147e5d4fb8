/** Listing runs by Temporal's visibility. Only roots: what is below them is in their tree. */
import type { Client } from '@temporalio/client';
import type { AwaitKind } from '../contract/awaits.js';
import { RUN_WORKFLOW } from '../contract/names.js';
import type { SearchAttributeName } from '../contract/names.js';
import type { RunPhase } from '../contract/run.js';
import { listExecutions, quoted } from './visibility.js';
import type { Execution } from './visibility.js';

export interface RunFilter {
  org_id?: string;
  agent_id?: string;
  phase?: RunPhase;
  thread_id?: string;
  /** Those that wait for somebody, or those that do not. */
  waiting?: boolean;
  created_after?: Date;
  created_before?: Date;
  limit?: number;
  /** `next_cursor` of the page before, of the same listing. */
  cursor?: string;
}

const ENGINE_STATUS = {
  1: 'running',
  2: 'completed',
  3: 'failed',
  4: 'canceled',
  5: 'terminated',
  7: 'timed_out',
} as const;
type EngineStatus = (typeof ENGINE_STATUS)[keyof typeof ENGINE_STATUS];

export interface ListedRun {
  run_id: string;
  agent_id?: string;
  phase?: string;
  thread_id?: string;
  created_by?: string;
  /** What the run, or one below it, has waited for longest; absent where nothing waits. */
  waiting?: AwaitKind;
  /** How the engine sees it: it can end a run that had no chance to write its phase. */
  engine_status: EngineStatus;
  created_at: string;
  ended_at?: string;
}

export interface RunPage {
  runs: ListedRun[];
  next_cursor?: string;
}

export async function listRuns(client: Client, filter: RunFilter): Promise<RunPage> {
  const { executions, next } = await listExecutions(client, visibilityQuery(filter), filter);
  return { runs: executions.map(listed), ...(next === undefined ? {} : { next_cursor: next }) };
}

function listed(execution: Execution): ListedRun {
  const attribute = (name: SearchAttributeName): string | undefined => {
    const data = execution.searchAttributes?.indexedFields?.[name]?.data;
    return data == null ? undefined : (JSON.parse(Buffer.from(data).toString('utf8')) as string);
  };
  const engine_status = ENGINE_STATUS[execution.status as keyof typeof ENGINE_STATUS] ?? 'running';
  const fields = {
    agent_id: attribute('PerdureAgentId'),
    phase: attribute('PerdurePhase'),
    thread_id: attribute('PerdureThreadId'),
    created_by: attribute('PerdureCreatedBy'),
    // One that the engine ended had no chance to take it back.
    waiting: engine_status === 'running' ? attribute('PerdureWaiting') : undefined,
    ended_at: timeOf(execution.closeTime),
  };
  return {
    run_id: execution.execution?.workflowId ?? '',
    ...(Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<ListedRun>),
    engine_status,
    created_at: timeOf(execution.startTime) ?? '',
  };
}

function waitingQuery(waiting: boolean | undefined): string[] {
  const name: SearchAttributeName = 'PerdureWaiting';
  if (waiting === undefined) return [];
  return [
    waiting
      ? `${name} IS NOT NULL AND ExecutionStatus = 'Running'`
      : `(${name} IS NULL OR ExecutionStatus != 'Running')`,
  ];
}

function timeOf(time: Execution['startTime']): string | undefined {
  if (time == null) return undefined;
  return new Date(Number(time.seconds ?? 0) * 1_000 + Math.floor((time.nanos ?? 0) / 1e6)).toISOString();
}

function visibilityQuery(filter: RunFilter): string {
  const equal = (name: SearchAttributeName, field: keyof RunFilter, value: string | undefined) =>
    value === undefined ? [] : [`${name} = ${quoted(field, value)}`];
  return [
    `WorkflowType = '${RUN_WORKFLOW}'`,
    'ParentWorkflowId IS NULL',
    // One that went on under the same id is listed once.
    `ExecutionStatus != 'ContinuedAsNew'`,
    ...equal('PerdureOrgId', 'org_id', filter.org_id),
    ...equal('PerdureAgentId', 'agent_id', filter.agent_id),
    ...equal('PerdurePhase', 'phase', filter.phase),
    ...equal('PerdureThreadId', 'thread_id', filter.thread_id),
    ...waitingQuery(filter.waiting),
    ...(filter.created_after === undefined ? [] : [`StartTime >= '${filter.created_after.toISOString()}'`]),
    ...(filter.created_before === undefined ? [] : [`StartTime < '${filter.created_before.toISOString()}'`]),
  ].join(' AND ');
}
