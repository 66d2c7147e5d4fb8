/** What the server itself knows of a workflow: no worker is asked. */
import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/client';
import type { ExecutionId } from '../live/history.js';

/** As the server names them. */
export type ExecutionStatus =
  | 'RUNNING'
  | 'COMPLETED'
  | 'FAILED'
  | 'CANCELLED'
  | 'TERMINATED'
  | 'CONTINUED_AS_NEW'
  | 'TIMED_OUT'
  | 'PAUSED'
  | 'UNSPECIFIED'
  | 'UNKNOWN';

export interface Execution extends ExecutionId {
  /** Of the first execution. */
  firstRunId: string;
  status: ExecutionStatus;
  isOpen: boolean;
  historyLength: number;
  historyBytes: number;
  /** A workflow task is scheduled or being worked on. */
  hasTask: boolean;
}

const DEADLINE_MS = 5_000;

export async function readExecution(client: Client, workflowId: string): Promise<Execution> {
  return executionOf(
    await client.withDeadline(Date.now() + DEADLINE_MS, () => client.workflow.getHandle(workflowId).describe()),
  );
}

export function executionOf(description: WorkflowExecutionDescription): Execution {
  const { workflowId, runId, status, historyLength, historySize = 0, raw } = description;
  return {
    workflowId,
    runId,
    firstRunId: raw.workflowExecutionInfo?.firstRunId || runId,
    status: status.name,
    isOpen: status.name === 'RUNNING' || status.name === 'PAUSED',
    historyLength,
    historyBytes: historySize,
    hasTask: raw.pendingWorkflowTask != null,
  };
}

/** Nothing has happened between the two. */
export function isSame(one: Execution | undefined, other: Execution | undefined): boolean {
  return (
    one !== undefined &&
    one.runId === other?.runId &&
    one.historyLength === other.historyLength &&
    one.isOpen === other.isOpen
  );
}

/** Undefined where there is no such workflow, or none any more. */
export async function findExecution(client: Client, workflowId: string): Promise<Execution | undefined> {
  try {
    return await readExecution(client, workflowId);
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}
