/** Which workers poll a task queue, as far as the server knows. */
import type { Client } from '@temporalio/client';
import { TASK_QUEUE } from '../contract/names.js';

/** A worker's poll lasts a minute at most; the server lists pollers for minutes after they are gone. */
const FRESH_MS = 75_000;
const DEADLINE_MS = 3_000;
const SHARED_MS = 1_000;
/** temporal.api.enums.v1.TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW */
const WORKFLOW_QUEUE = 1;

/** Their identities, each once. Rejects where the server gives no answer. */
export async function freshPollers(client: Client, taskQueue = TASK_QUEUE, now = Date.now()): Promise<string[]> {
  const { pollers } = await client.withDeadline(Date.now() + DEADLINE_MS, () =>
    client.workflowService.describeTaskQueue({
      namespace: client.options.namespace,
      taskQueue: { name: taskQueue },
      taskQueueType: WORKFLOW_QUEUE,
    }),
  );
  const fresh = pollers.filter((poller) => now - Number(poller.lastAccessTime?.seconds ?? 0) * 1_000 < FRESH_MS);
  return [...new Set(fresh.map((poller) => poller.identity ?? ''))];
}

/** Whether any does. */
export async function workerPolls(client: Client, taskQueue = TASK_QUEUE, now = Date.now()): Promise<boolean> {
  return (await freshPollers(client, taskQueue, now)).length > 0;
}

/** For many who ask: one answer for a second. */
export function sharedWorkerPolls(
  client: Client,
  taskQueue: string | undefined,
  now = Date.now,
): () => Promise<boolean> {
  let asked: { at: number; answer: Promise<boolean> } | undefined;
  return () => {
    if (asked === undefined || now() - asked.at >= SHARED_MS || now() < asked.at) {
      asked = { at: now(), answer: workerPolls(client, taskQueue, now()) };
    }
    return asked.answer;
  };
}
