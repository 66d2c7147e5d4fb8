/**
 * Listing threads: Temporal's visibility finds them, and each says itself what it is now. Those that were deleted, that
 * changed meanwhile, or that the asker may not read, are left out; so a page may hold less than was asked for.
 */
import type { Client } from '@temporalio/client';
import { isPerdureError } from '../../contract/errors.js';
import { THREAD_WORKFLOW } from '../../contract/names.js';
import type { SearchAttributeName } from '../../contract/names.js';
import type { ThreadHeader } from '../../contract/thread-commands.js';
import type { AgentThreadStatus } from '../../contract/thread-records.js';
import { listExecutions, quoted } from '../visibility.js';

export interface ThreadFilter {
  org_id?: string;
  created_by?: string;
  agent_id?: string;
  status?: AgentThreadStatus;
  created_after?: Date;
  created_before?: Date;
  limit?: number;
  /** `next_token` of the page before, of the same listing. */
  page_token?: string;
}

export interface ThreadList {
  headers: ThreadHeader[];
  next_token?: string;
}

/** Queries at the same time. */
const AT_ONCE = 8;

export async function listThreads(
  client: Client,
  taskQueue: string,
  filter: ThreadFilter,
  read: (threadId: string) => Promise<ThreadHeader>,
): Promise<ThreadList> {
  const { limit, page_token: cursor } = filter;
  const { executions, next } = await listExecutions(client, visibilityQuery(taskQueue, filter), { limit, cursor });
  const ids = executions.map((execution) => execution.execution?.workflowId ?? '');
  const headers: (ThreadHeader | undefined)[] = [];
  for (let n = 0; n < ids.length; n += AT_ONCE) {
    headers.push(...(await Promise.all(ids.slice(n, n + AT_ONCE).map((id) => readIfThere(read, id)))));
  }
  return {
    headers: headers.filter((header): header is ThreadHeader => header !== undefined && isAsked(header, filter)),
    ...(next === undefined ? {} : { next_token: next }),
  };
}

async function readIfThere(
  read: (threadId: string) => Promise<ThreadHeader>,
  threadId: string,
): Promise<ThreadHeader | undefined> {
  try {
    return await read(threadId);
  } catch (error) {
    if (isPerdureError(error) && error.code === 'unknown_thread') return undefined;
    throw error;
  }
}

/** What was found by may be of an earlier moment. */
function isAsked({ ready, status, record, agent_id }: ThreadHeader, filter: ThreadFilter): boolean {
  const created = Date.parse(record.created);
  return (
    ready &&
    created >= (filter.created_after?.getTime() ?? created) &&
    created < (filter.created_before?.getTime() ?? Infinity) &&
    (filter.status ?? status) === status &&
    (filter.org_id ?? record.org_id) === record.org_id &&
    (filter.created_by ?? record.created_by) === record.created_by &&
    (filter.agent_id ?? agent_id) === agent_id
  );
}

function visibilityQuery(taskQueue: string, filter: ThreadFilter): string {
  const equal = (name: SearchAttributeName, field: keyof ThreadFilter, value: string | undefined) =>
    value === undefined ? [] : [`${name} = ${quoted(field, value)}`];
  return [
    `WorkflowType = '${THREAD_WORKFLOW}'`,
    // Those of other workers cannot be asked.
    `TaskQueue = ${quoted('task queue', taskQueue)}`,
    // One that is closed was deleted.
    `ExecutionStatus = 'Running'`,
    ...equal('PerdureOrgId', 'org_id', filter.org_id),
    ...equal('PerdureCreatedBy', 'created_by', filter.created_by),
    ...equal('PerdureAgentId', 'agent_id', filter.agent_id),
    ...equal('PerdureThreadStatus', 'status', filter.status),
    // One that continued as new has a later time here than its own, which counts.
    ...(filter.created_after === undefined ? [] : [`StartTime >= '${filter.created_after.toISOString()}'`]),
  ].join(' AND ');
}
