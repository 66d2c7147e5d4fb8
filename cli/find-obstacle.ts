/** What keeps a run from going on, as far as it can be seen from outside. */
import type { Client } from '@temporalio/client';
import { workerPolls } from '../client/worker-polls.js';
import { TASK_QUEUE } from '../contract/names.js';
import { whyNot } from './why-not.js';

export interface Obstacle {
  at: 'server' | 'worker';
  /** In a sentence, without its full stop. */
  text: string;
}

const DEADLINE_MS = 3_000;
/** A task that failed once or twice may have met a worker that was going down. */
const HOPELESS_ATTEMPTS = 3;

/** Undefined where nothing is wrong. */
export async function findObstacle(
  client: Client,
  runId: string | undefined,
  taskQueue = TASK_QUEUE,
): Promise<Obstacle | undefined> {
  const { namespace } = client.options;
  try {
    if (!(await workerPolls(client, taskQueue))) {
      const where = `the task queue "${taskQueue}" in the namespace "${namespace}"`;
      return { at: 'worker', text: `no worker polls ${where}: the run waits until one starts` };
    }
    if (runId === undefined) return undefined;
    const { raw } = await soon(client, () => client.workflow.getHandle(runId).describe());
    if ((raw.pendingWorkflowTask?.attempt ?? 0) < HOPELESS_ATTEMPTS) return undefined;
    const text =
      'the worker fails at this run again and again: its log says why. Command and worker must share one --data-dir';
    return { at: 'worker', text };
  } catch (error) {
    return { at: 'server', text: `the Temporal server does not answer: ${whyNot(error)}` };
  }
}

function soon<T>(client: Client, call: () => Promise<T>): Promise<T> {
  return client.withDeadline(Date.now() + DEADLINE_MS, call);
}
