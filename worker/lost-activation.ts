/**
 * A worker that the SDK has damaged, and how it is known. With a full cache, and two tasks at once for a workflow that
 * is not in it (one of them with a part of the history only), the SDK's core (1.24) makes an activation and drops it. The
 * workflow is then "at work" for ever; what comes for it is set aside, each with a place for a task, until the worker
 * has no place left and stops to ask for tasks, without a word: but for one line in the core's log, which is what is
 * looked for here. docs/queries.md has the story.
 */
const LINE = 'Extra buffered run should not have produced an activation';

const listeners = new Set<() => void>();

/** For each line of the core's log. */
export function readCoreLine(message: string): void {
  if (message.includes(LINE)) for (const listener of listeners) listener();
}

/** Until it is told to stop. The log is one for all workers of a process. */
export function onLostActivation(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}
