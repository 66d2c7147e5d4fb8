/** What the server itself knows of a run, at once: no worker is asked, and nothing lags as a listing does. */
import { defineSearchAttributeKey } from '@temporalio/common';
import { isGrpcServiceError } from '@temporalio/client';
import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import { MEMO, RUN_WORKFLOW } from '../contract/names.js';
import { isPerdureError } from '../contract/errors.js';
import type { ClosedReader } from './closed-logs.js';
import { explain, unknownRun } from './explain-error.js';

const DEADLINE_MS = 5_000;
/** grpc.status.INVALID_ARGUMENT */
const INVALID_ARGUMENT = 3;

export interface RunRecord {
  run_id: string;
  /** Absent where the namespace has no such attribute. */
  agent_id?: string;
  /** Absent: it was started without one, and belongs to no org. */
  org_id?: string;
  created_by?: string;
  /** Of the request that started it, where the starter gave one. */
  request_digest?: string;
}

const agentAttribute = defineSearchAttributeKey('PerdureAgentId', 'KEYWORD');
const orgAttribute = defineSearchAttributeKey('PerdureOrgId', 'KEYWORD');
const creatorAttribute = defineSearchAttributeKey('PerdureCreatedBy', 'KEYWORD');

/** Throws `unknown_run`, also where the id is that of a workflow which is no run. */
export async function describeRun(client: Client, closed: ClosedReader, runId: string): Promise<RunRecord> {
  const kept = await closed.find(runId);
  if (kept !== undefined) return recordOf(kept);
  try {
    return await describeInTemporal(client, runId);
  } catch (error) {
    const isUnknown = isPerdureError(error) && error.code === 'unknown_run';
    const forgotten = isUnknown ? await closed.findOnly(runId) : undefined;
    if (forgotten === undefined) throw error;
    return recordOf(forgotten);
  }
}

function recordOf({ run_id, agent_id, org_id, created_by, request_digest }: RunRecord): RunRecord {
  return {
    run_id,
    ...(agent_id === undefined ? {} : { agent_id }),
    ...(org_id === undefined ? {} : { org_id }),
    ...(created_by === undefined ? {} : { created_by }),
    ...(request_digest === undefined ? {} : { request_digest }),
  };
}

async function describeInTemporal(client: Client, runId: string): Promise<RunRecord> {
  try {
    const description = await client.withDeadline(Date.now() + DEADLINE_MS, () =>
      client.workflow.getHandle(runId).describe(),
    );
    if (description.type !== RUN_WORKFLOW) throw unknownRun(runId);
    return { run_id: runId, ...notedIn(description) };
  } catch (error) {
    // An id that no workflow can have: empty, or longer than the server takes.
    const { cause } = error as { cause?: unknown };
    if (isGrpcServiceError(cause) && cause.code === INVALID_ARGUMENT) throw unknownRun(runId, error);
    throw explain(error, runId);
  }
}

/** What whoever started a run noted of it, and what it says of itself. */
export function notedIn({ memo, typedSearchAttributes }: WorkflowExecutionDescription): Omit<RunRecord, 'run_id'> {
  const noted = (name: string) => (typeof memo?.[name] === 'string' ? memo[name] : undefined);
  // A run that was started without our client has no memo, and sets its attributes itself.
  const org_id = noted(MEMO.org_id) ?? typedSearchAttributes.get(orgAttribute);
  const created_by = noted(MEMO.created_by) ?? typedSearchAttributes.get(creatorAttribute);
  const request_digest = noted(MEMO.request_digest);
  const agent_id = typedSearchAttributes.get(agentAttribute);
  return {
    ...(agent_id === undefined ? {} : { agent_id }),
    ...(org_id === undefined ? {} : { org_id }),
    ...(created_by === undefined ? {} : { created_by }),
    ...(request_digest === undefined ? {} : { request_digest }),
  };
}
