/**
 * Refuses to handle events before their workflow task has begun. Part of the bundle, for every workflow in it.
 *
 * A query that reaches a worker without the workflow in its cache makes the SDK (1.24) handle what is in the history
 * after the last workflow task. Nothing of that is committed: the task may come with more events, in another order and
 * at another time, and a worker that then gets it has handled in two activations what replay handles in one. The
 * story, and the test that shows it with plain workflows, are in docs/queries.md.
 *
 * Q1  An activation that is not replayed and has work to do, whose history is longer than before but whose time has not
 *     moved, belongs to no workflow task: the time is that of the task's start. A task is seen by its work, so none may
 *     come without: whatever a run cancels tells it its end (`settle.ts`, `child-run.ts`).
 * Q2  Where such events were handled all the same (their task began on another worker before the SDK read the history),
 *     a signal or an update that comes at the same place of the history does so in a second activation of one task.
 * Q3  Both end the activation and the cached workflow with it: a query is asked again a little later, a task is
 *     retried from its history.
 */
import type { WorkflowInterceptors } from '@temporalio/workflow';
import { EARLY_EVENTS } from '../contract/names.js';

interface Place {
  length: number;
  time: string;
}

export function interceptors(): WorkflowInterceptors {
  let before: Place | undefined;
  return {
    internals: [
      {
        activate(input, next) {
          const { historyLength, timestamp, isReplaying, jobs } = input.activation;
          const isWork = jobs?.some((job) => job.queryWorkflow == null) === true;
          if (input.batchIndex === 0 && isWork) {
            const now = { length: historyLength ?? 0, time: `${String(timestamp?.seconds)} ${timestamp?.nanos}` };
            const isCall = jobs.some((job) => job.signalWorkflow != null || job.doUpdate != null);
            if (isReplaying !== true && before !== undefined && isEarly(before, now, isCall)) {
              throw new Error(
                `${EARLY_EVENTS}: this worker was about to handle events whose workflow task has not begun. Ask again in a moment.`,
              );
            }
            before = now;
          }
          return next(input);
        },
      },
    ],
  };
}

function isEarly(before: Place, now: Place, isCall: boolean): boolean {
  if (now.time !== before.time) return false;
  return now.length > before.length || (isCall && now.length === before.length);
}
