/** What the server itself knows of a run, at once: no worker is asked, and nothing lags as a listing does. */
import { defineSearchAttributeKey } from '@temporalio/common';
import { isGrpcServiceError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import { MEMO, RUN_WORKFLOW } from '../contract/names.js';
import { explain, unknownRun } from './explain-error.js';

const DEADLINE_MS = 5_000;
/** grpc.status.INVALID_ARGUMENT */
const INVALID_ARGUMENT = 3;

export interface RunRecord {
  run_id: string;
  /** Absent: it was started without one, and belongs to no org. */
  org_id?: string;
  created_by?: string;
  /** Of the request that started it, where the starter gave one. */
  request_digest?: string;
}

const orgAttribute = defineSearchAttributeKey('PerdureOrgId', 'KEYWORD');
const creatorAttribute = defineSearchAttributeKey('PerdureCreatedBy', 'KEYWORD');

/** Throws `unknown_run`, also where the id is that of a workflow which is no run. */
export async function describeRun(client: Client, runId: string): Promise<RunRecord> {
  try {
    const { type, memo, typedSearchAttributes } = await client.withDeadline(Date.now() + DEADLINE_MS, () =>
      client.workflow.getHandle(runId).describe(),
    );
    if (type !== RUN_WORKFLOW) throw unknownRun(runId);
    const noted = (name: string) => (typeof memo?.[name] === 'string' ? memo[name] : undefined);
    // A run that was started without our client has no memo, and sets its attributes itself.
    const org_id = noted(MEMO.org_id) ?? typedSearchAttributes.get(orgAttribute);
    const created_by = noted(MEMO.created_by) ?? typedSearchAttributes.get(creatorAttribute);
    const request_digest = noted(MEMO.request_digest);
    return {
      run_id: runId,
      ...(org_id === undefined ? {} : { org_id }),
      ...(created_by === undefined ? {} : { created_by }),
      ...(request_digest === undefined ? {} : { request_digest }),
    };
  } catch (error) {
    // An id that no workflow can have: empty, or longer than the server takes.
    const { cause } = error as { cause?: unknown };
    if (isGrpcServiceError(cause) && cause.code === INVALID_ARGUMENT) throw unknownRun(runId, error);
    throw explain(error, runId);
  }
}
