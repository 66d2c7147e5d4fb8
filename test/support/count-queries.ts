/** Counts the queries that clients in this process send, those that workers give to activities among them. */
import { WorkflowClient } from '@temporalio/client';
import { vi } from 'vitest';

export interface SentQuery {
  workflow: string;
  name: string;
  request: unknown;
}

interface Internals {
  _queryWorkflowHandler(input: {
    queryType: string;
    workflowExecution: { workflowId?: string };
    args: unknown[];
  }): unknown;
}

/** What was sent since, to the workflows whose id begins so. */
export function countQueries(): (workflow: string, name?: string) => SentQuery[] {
  const sent: SentQuery[] = [];
  const internals = WorkflowClient.prototype as unknown as Internals;
  const original = internals._queryWorkflowHandler;
  vi.spyOn(internals, '_queryWorkflowHandler').mockImplementation(function (this: unknown, input) {
    const { queryType, workflowExecution, args } = input;
    sent.push({ workflow: workflowExecution.workflowId ?? '', name: queryType, request: args[0] });
    return original.call(this as Internals, input);
  });
  return (workflow, name) =>
    sent.filter((query) => query.workflow.startsWith(workflow) && (name === undefined || query.name === name));
}
