/** A thread in a list, for people and for programs of ours: in words that belong to no wire format. */
import { z } from 'zod';
import type { ThreadHeader } from './thread-commands.js';
import { THREAD_STATUSES, threadStatus } from './thread-status.js';

export const ThreadStatus = z.enum(THREAD_STATUSES);
export type ThreadStatus = z.infer<typeof ThreadStatus>;

export const ThreadSummary = z.strictObject({
  thread_id: z.string(),
  agent_id: z.string(),
  title: z.string().exactOptional(),
  status: ThreadStatus,
  /** How many turns have begun. */
  turns: z.number().int(),
  /** The run of the turn that is going on. */
  open_run_id: z.string().exactOptional(),
  visibility: z.enum(['private', 'org']),
  created_at: z.string(),
  created_by: z.string().exactOptional(),
});
export type ThreadSummary = z.infer<typeof ThreadSummary>;

/** One thread, as it stands at this moment. */
export const ThreadState = ThreadSummary.extend({
  /** Messages that wait for the turn to end. */
  queued: z.number().int(),
  /** Grows with every change. */
  counter: z.number().int(),
});
export type ThreadState = z.infer<typeof ThreadState>;

export function threadState(header: ThreadHeader): ThreadState {
  const { queued, counter } = header;
  return { ...summarizeThread(header), queued, counter };
}

export interface ThreadSummaryPage {
  threads: ThreadSummary[];
  next_cursor?: string;
}

export function summarizeThread(header: ThreadHeader): ThreadSummary {
  const { record, agent_id, title, turns, turn } = header;
  return {
    thread_id: record.thread_id,
    agent_id,
    ...(title === null ? {} : { title }),
    status: threadStatus(header),
    turns,
    ...(turn === undefined ? {} : { open_run_id: turn.run_id }),
    visibility: record.visibility,
    created_at: record.created,
    ...(record.created_by === '' ? {} : { created_by: record.created_by }),
  };
}
