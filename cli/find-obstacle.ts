/** What keeps a run from going on, as far as it can be seen from outside. */
import type { Client } from '@temporalio/client';
import { TASK_QUEUE } from '../contract/names.js';
import { messageOf } from './command-error.js';

/** A worker's poll lasts a minute at most; the server lists pollers for minutes after they are gone. */
const FRESH_MS = 75_000;
const DEADLINE_MS = 3_000;
/** A task that failed once or twice may have met a worker that was going down. */
const HOPELESS_ATTEMPTS = 3;
/** temporal.api.enums.v1.TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW */
const WORKFLOW_QUEUE = 1;

/** In a sentence; undefined where nothing is wrong. */
export async function findObstacle(client: Client, runId: string, taskQueue = TASK_QUEUE): Promise<string | undefined> {
  const { namespace } = client.options;
  try {
    const { pollers } = await soon(client, () =>
      client.workflowService.describeTaskQueue({
        namespace,
        taskQueue: { name: taskQueue },
        taskQueueType: WORKFLOW_QUEUE,
      }),
    );
    const isFresh = (seconds: unknown) => Date.now() - Number(seconds) * 1_000 < FRESH_MS;
    if (!pollers?.some((poller) => isFresh(poller.lastAccessTime?.seconds ?? 0))) {
      return `no worker polls the task queue "${taskQueue}" in the namespace "${namespace}": the run waits until one starts`;
    }
    const { raw } = await soon(client, () => client.workflow.getHandle(runId).describe());
    if ((raw.pendingWorkflowTask?.attempt ?? 0) < HOPELESS_ATTEMPTS) return undefined;
    return `the worker fails at this run again and again: its log says why. Command and worker must share one --data-dir`;
  } catch (error) {
    return `the server does not answer (${messageOf(error)}): still trying`;
  }
}

function soon<T>(client: Client, call: () => Promise<T>): Promise<T> {
  return client.withDeadline(Date.now() + DEADLINE_MS, call);
}
