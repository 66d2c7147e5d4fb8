/** The server's own record of a workflow: it tells what is committed, and asks no worker. */
import { isGrpcServiceError } from '@temporalio/client';
import type { Client } from '@temporalio/client';

type History = Awaited<ReturnType<Client['workflowService']['getWorkflowExecutionHistory']>>['history'];
export type HistoryEvent = NonNullable<NonNullable<History>['events']>[number];

export interface ExecutionId {
  workflowId: string;
  /** The engine's id of this execution: another one after each continue-as-new. */
  runId: string;
}

/** `open`: the history does not go so far yet. `lost`: the task failed or timed out, and is tried again. */
export type TaskOutcome = { state: 'open' | 'lost' } | { state: 'completed'; identity: string };

const DEADLINE_MS = 5_000;
/** Batches of events: what followed a task that has just ended is in the last few. Who reads on wants many. */
const PAGE_SIZE = 4;
const LARGEST_PAGE_SIZE = 256;
/** grpc.status */
const RESOURCE_EXHAUSTED = 8;
const UNIMPLEMENTED = 12;

/** How the workflow task ended whose start is the event with this number. */
export async function taskOutcome(
  client: Client,
  execution: ExecutionId,
  startedEventId: number,
): Promise<TaskOutcome> {
  for await (const event of eventsBackwards(client, execution)) {
    const id = Number(event.eventId);
    if (id <= startedEventId) break;
    if (id !== startedEventId + 1) continue;
    const completed = event.workflowTaskCompletedEventAttributes;
    return completed == null ? { state: 'lost' } : { state: 'completed', identity: completed.identity ?? '' };
  }
  return { state: 'open' };
}

/** A few events follow a task at most, unless signals come by the dozen. */
const LOOKED_BACK = 40;

/** The number of the event with which the last completed task began: undefined where there is none, -1 where it is further back. */
export async function lastCompletedTask(client: Client, execution: ExecutionId): Promise<number | undefined> {
  let seen = 0;
  for await (const { workflowTaskCompletedEventAttributes: completed } of eventsBackwards(client, execution)) {
    if (completed != null) return Number(completed.startedEventId);
    seen += 1;
    if (seen > LOOKED_BACK) return -1;
  }
  return undefined;
}

/** The tasks of a workflow that were completed: the number of the event with which each began, and who did it. */
export async function completedTasks(client: Client, execution: ExecutionId): Promise<Map<number, string>> {
  const tasks = new Map<number, string>();
  const { workflowId, runId } = execution;
  const request = { namespace: client.options.namespace, execution: { workflowId, runId } };
  for (const { workflowTaskCompletedEventAttributes: completed } of await wholeHistory(client, request)) {
    if (completed != null) tasks.set(Number(completed.startedEventId), completed.identity ?? '');
  }
  return tasks;
}

/** The history from its end, as far as the caller reads. */
export async function* eventsBackwards(
  client: Client,
  execution: ExecutionId,
): AsyncGenerator<HistoryEvent, undefined> {
  const request = { namespace: client.options.namespace, execution };
  let nextPageToken: Uint8Array | undefined;
  let maximumPageSize = PAGE_SIZE;
  let largest = LARGEST_PAGE_SIZE;
  for (;;) {
    const token = nextPageToken === undefined ? {} : { nextPageToken };
    try {
      const page = await client.withDeadline(Date.now() + DEADLINE_MS, () =>
        client.workflowService.getWorkflowExecutionHistoryReverse({ ...request, maximumPageSize, ...token }),
      );
      yield* page.history?.events ?? [];
      nextPageToken = page.nextPageToken;
      maximumPageSize = Math.min(largest, 4 * maximumPageSize);
    } catch (error) {
      const code = isGrpcServiceError(error) ? error.code : undefined;
      // The server whose time can be skipped, for tests, reads forwards only.
      if (code === UNIMPLEMENTED) return yield* (await wholeHistory(client, request)).reverse();
      // Together they are more than this client takes in one message.
      if (code !== RESOURCE_EXHAUSTED || maximumPageSize === 1) throw error;
      largest = Math.max(1, Math.floor(maximumPageSize / 4));
      maximumPageSize = largest;
      continue;
    }
    if (nextPageToken == null || nextPageToken.length === 0) return undefined;
  }
}

async function wholeHistory(
  client: Client,
  request: { namespace: string; execution: ExecutionId },
): Promise<HistoryEvent[]> {
  const events: HistoryEvent[] = [];
  let nextPageToken: Uint8Array | undefined;
  do {
    const token = nextPageToken === undefined ? {} : { nextPageToken };
    const page = await client.withDeadline(Date.now() + DEADLINE_MS, () =>
      client.workflowService.getWorkflowExecutionHistory({ ...request, ...token }),
    );
    events.push(...(page.history?.events ?? []));
    nextPageToken = page.nextPageToken;
  } while (nextPageToken != null && nextPageToken.length > 0);
  return events;
}
