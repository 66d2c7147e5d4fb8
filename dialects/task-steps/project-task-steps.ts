/** The history of steps of a run, or of a whole tree: `GET /v1/runs/{id}/steps`. */
import type { DurableEvent } from '../../contract/events.js';
import type { TaskStep } from '../../contract/task-steps.js';
import { foldStep } from './fold-step.js';

/** Steps in the order in which they began; the last of a run that goes on is as far as it is. */
export function projectTaskSteps(events: Iterable<DurableEvent>): TaskStep[] {
  const steps = new Map<string, TaskStep>();
  const current = new Map<string, TaskStep>();
  for (const event of events) {
    const step = foldStep(current.get(event.run_id), event);
    if (step === undefined) continue;
    current.set(event.run_id, step);
    steps.set(step.id, step);
  }
  return [...steps.values()];
}
