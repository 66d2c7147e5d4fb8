/** Where the runs of this worker start, wait, go on and end, told once the server has it: for whoever watches the worker. */
import type { DurableEvent, EventOf } from '../contract/events.js';
import { createTail } from './tail.js';
import type { Tail, TailOptions } from './tail.js';

const MILESTONES = [
  'run_started',
  'await_clarification',
  'await_approval',
  'await_external_tools',
  'await_resolved',
  'run_completed',
] as const;

export type Milestone = EventOf<(typeof MILESTONES)[number]>;

export function tellMilestones(options: Omit<TailOptions, 'channel'>, tell: (milestone: Milestone) => void): Tail {
  const tail = createTail({
    ...options,
    channel: {
      watched: () => true,
      publishCommitted: (_runId, committed) => committed.forEach(({ event }) => tell(event as Milestone)),
    },
  });
  return {
    appended(runId, event) {
      if (isMilestone(JSON.parse(event.text) as DurableEvent)) tail.appended(runId, event);
    },
    stop: () => tail.stop(),
  };
}

function isMilestone({ type }: DurableEvent): boolean {
  return (MILESTONES as readonly string[]).includes(type);
}
