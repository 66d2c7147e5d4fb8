/** The history of steps of a run, or of a whole tree: `GET /v1/runs/{id}/steps`. */
import type { DurableEvent } from '../../contract/events.js';
import type { TaskStep } from '../../contract/task-steps.js';
import { foldStep } from './fold-step.js';

/**
 * Steps in the order in which they began; the last of a run that goes on is as far as it is. The events are of `runId`,
 * and may be of runs below it; where it is not given, it is the run of the first event.
 */
export function projectTaskSteps(events: Iterable<DurableEvent>, runId?: string): TaskStep[] {
  let own = runId;
  const steps = new Map<string, TaskStep>();
  const current = new Map<string, TaskStep>();
  for (const event of events) {
    own ??= event.run_id;
    const step = foldStep(current.get(event.run_id), event, event.run_id !== own);
    if (step === undefined) continue;
    current.set(event.run_id, step);
    steps.set(step.id, step);
  }
  return [...steps.values()];
}
