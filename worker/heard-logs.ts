/**
 * The logs of runs, as this worker hears them being written: where it heard all of one, nobody has to ask for it. The
 * archive copies them, and a thread takes what its turn left.
 *
 * H1  What was heard is only given out where the history says that this worker completed every task that wrote a part of
 *     it: a task that was lost, or done again elsewhere, may have said something else.
 * H2  So much is kept and no more; the runs that were silent longest are forgotten first, and are read by replay.
 * H3  What has ended is kept for a moment, for whoever was about to read it.
 */
import type { Client } from '@temporalio/client';
import { createKept } from '../client/kept.js';
import { completedTasks } from '../live/history.js';
import type { Appended } from './tail.js';

export interface HeardLogs {
  appended(runId: string, event: Appended): void;
  /** Undefined where it was not heard whole, or is not sure. */
  read(runId: string): Promise<string[] | undefined>;
  forgetSoon(runId: string): void;
}

/** In characters of the events. */
const KEPT_CHARS = 64 * 1024 * 1024;
/** A thread asks for its turn as soon as that has ended. */
const MOMENT_MS = 10_000;

interface Heard {
  events: Appended[];
  size: number;
}

export function createHeardLogs(client: Client, mostChars = KEPT_CHARS): HeardLogs {
  const kept = createKept<Heard>(mostChars);

  return {
    appended(runId, event) {
      const log = event.seq === 0 ? kept.put(runId, { events: [], size: 0 }) : kept.get(runId);
      if (log === undefined) return;
      // Something was said where this worker could not hear it.
      if (event.seq > log.events.length) return kept.drop(runId);
      for (const gone of log.events.splice(event.seq)) log.size -= gone.text.length;
      log.events.push(event);
      log.size += event.text.length;
      kept.measure(runId, log.size);
    },
    async read(workflowId) {
      const events = [...(kept.get(workflowId)?.events ?? [])];
      if (events.at(-1) === undefined || !isEnd(events.at(-1)?.text ?? '')) return undefined;
      for (const runId of new Set(events.map(({ execution }) => execution))) {
        const tasks = await completedTasks(client, { workflowId, runId });
        const isSure = events.every((event) => event.execution !== runId || tasks.get(event.task) === event.identity);
        if (!isSure) return undefined;
      }
      return events.map(({ text }) => text);
    },
    forgetSoon: (runId) => void setTimeout(() => kept.drop(runId), MOMENT_MS).unref(),
  };
}

/** The type comes first: `workflows/run-log.ts`. */
export function isEnd(text: string): boolean {
  return text.startsWith('{"type":"run_completed"');
}
