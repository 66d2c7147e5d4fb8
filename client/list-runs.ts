/**
 * Listing runs by Temporal's visibility, which lags behind: for people who browse, never for authorization.
 * Only roots: what is below them is in their tree.
 */
import { createHash } from 'node:crypto';
import { isGrpcServiceError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import { PerdureError } from '../contract/errors.js';
import { RUN_WORKFLOW } from '../contract/names.js';
import type { SearchAttributeName } from '../contract/names.js';
import type { RunPhase } from '../contract/run.js';
import { unreachable } from './explain-error.js';

export interface RunFilter {
  org_id?: string;
  agent_id?: string;
  phase?: RunPhase;
  thread_id?: string;
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
  /** How the engine sees it: it can end a run that had no chance to write its phase. */
  engine_status: EngineStatus;
  created_at: string;
  ended_at?: string;
}

export interface RunPage {
  runs: ListedRun[];
  next_cursor?: string;
}

const DEADLINE_MS = 10_000;
const PAGE_SIZE = 50;
/** grpc.status.INVALID_ARGUMENT */
const INVALID_ARGUMENT = 3;

export async function listRuns(client: Client, filter: RunFilter): Promise<RunPage> {
  const query = visibilityQuery(filter);
  const nextPageToken = filter.cursor === undefined ? undefined : readCursor(filter.cursor, query);
  try {
    const page = await client.withDeadline(Date.now() + DEADLINE_MS, () =>
      client.workflowService.listWorkflowExecutions({
        namespace: client.options.namespace,
        pageSize: filter.limit ?? PAGE_SIZE,
        query,
        ...(nextPageToken === undefined ? {} : { nextPageToken }),
      }),
    );
    const more = page.nextPageToken.length > 0;
    return {
      runs: page.executions.map(listed),
      ...(more ? { next_cursor: writeCursor(page.nextPageToken, query) } : {}),
    };
  } catch (error) {
    throw explainListing(error);
  }
}

type Execution = Awaited<ReturnType<Client['workflowService']['listWorkflowExecutions']>>['executions'][number];

function listed(execution: Execution): ListedRun {
  const attribute = (name: SearchAttributeName): string | undefined => {
    const data = execution.searchAttributes?.indexedFields?.[name]?.data;
    return data == null ? undefined : (JSON.parse(Buffer.from(data).toString('utf8')) as string);
  };
  const fields = {
    agent_id: attribute('PerdureAgentId'),
    phase: attribute('PerdurePhase'),
    thread_id: attribute('PerdureThreadId'),
    created_by: attribute('PerdureCreatedBy'),
    ended_at: timeOf(execution.closeTime),
  };
  return {
    run_id: execution.execution?.workflowId ?? '',
    ...(Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<ListedRun>),
    engine_status: ENGINE_STATUS[execution.status as keyof typeof ENGINE_STATUS] ?? 'running',
    created_at: timeOf(execution.startTime) ?? '',
  };
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
    ...(filter.created_after === undefined ? [] : [`StartTime >= '${filter.created_after.toISOString()}'`]),
    ...(filter.created_before === undefined ? [] : [`StartTime < '${filter.created_before.toISOString()}'`]),
  ].join(' AND ');
}

/**
 * Servers differ in how they read a quote or a backslash inside a text, by the database behind them. A text with
 * one is refused, so that nothing in it can ever be read as part of the query.
 */
function quoted(field: string, value: string): string {
  // oxlint-disable-next-line no-control-regex
  if (!/['"`\\\u0000-\u001f\u007f]/.test(value)) return `'${value}'`;
  const message = 'must hold no quote, backslash or control character: runs cannot be found by such a text';
  throw new PerdureError('invalid_request', `${field}: ${message}`, { issues: [{ path: field, message }] });
}

/** Bound to its query and to itself: the server takes a token of another listing, and fails at a broken one. */
function writeCursor(token: Uint8Array, query: string): string {
  const text = Buffer.from(token).toString('base64url');
  return `${fingerprint(query, text)}.${text}`;
}

function readCursor(cursor: string, query: string): Uint8Array {
  const [print, token = ''] = cursor.split('.');
  if (print !== fingerprint(query, token)) throw badCursor();
  return Buffer.from(token, 'base64url');
}

function badCursor(cause?: unknown): PerdureError {
  const message = 'is no cursor of this listing: ask again without one, or with the same filter as before';
  return new PerdureError('invalid_request', `cursor: it ${message}`, { issues: [{ path: 'cursor', message }], cause });
}

function fingerprint(query: string, token: string): string {
  return createHash('sha256').update(`${query}\n${token}`).digest('base64url').slice(0, 16);
}

function explainListing(error: unknown): Error {
  if (isGrpcServiceError(error) && error.code === INVALID_ARGUMENT) {
    if (!/search attribute/i.test(error.details)) return badCursor(error);
    return new PerdureError(
      'invalid_config',
      `runs cannot be listed, since the namespace lacks our search attributes: ${error.details}`,
      { cause: error },
    );
  }
  return unreachable(error, 'to a listing') ?? (error instanceof Error ? error : new Error(String(error)));
}
