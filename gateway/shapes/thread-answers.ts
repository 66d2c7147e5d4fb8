/** Threads as the published Python client reads them. */
import { z } from 'zod';
import type { ThreadHeader } from '../../contract/thread-commands.js';
import { AgentThreadDelta, AgentThreadRecord } from '../../contract/thread-records.js';
import type { AgentThreadGoalRecord } from '../../contract/thread-records.js';

export const ThreadRecord = AgentThreadRecord;

/** Of a list: without what was said, and with the caller's own bookmark. */
export const ListedThread = AgentThreadRecord.omit({ continuation_token: true, messages: true, goals: true }).extend({
  agent_id: z.string(),
  pinned_at: z.iso.datetime().nullable(),
});

/** `replaces_from` is called `reset_from_message_sequence_num` by newer clients; older ones know neither. */
export const ThreadDelta = AgentThreadDelta.extend({
  reset_from_message_sequence_num: z.number().int().nonnegative().nullable(),
});

export const Sent = z.strictObject({
  thread_id: z.string(),
  state: z.enum(['started', 'queued']),
  message_sequence_num: z.number().int().exactOptional(),
  run_id: z.string().exactOptional(),
  ahead: z.number().int().exactOptional(),
});

export const Told = z.strictObject({ thread_id: z.string(), run_id: z.string().exactOptional() });

export function shownRecord({ goals, ...record }: AgentThreadRecord): AgentThreadRecord {
  return { ...record, goals: goals?.map(shownGoal) ?? null };
}

export function shownDelta({ goals, ...delta }: AgentThreadDelta): z.infer<typeof ThreadDelta> {
  const reset_from_message_sequence_num = delta.replaces_from ?? null;
  return { ...delta, goals: goals?.map(shownGoal) ?? null, reset_from_message_sequence_num };
}

export function listedThread(header: ThreadHeader, reader: string): z.infer<typeof ListedThread> {
  const { record, status, title, agent_id, pins } = header;
  return { ...record, status, title, agent_id, pinned_at: pins?.[reader] ?? null };
}

/** The client makes the goal that it declared of it, type and all. */
function shownGoal(goal: AgentThreadGoalRecord): AgentThreadGoalRecord {
  return { ...goal, goal_data: { goal_type: goal.goal_type, ...goal.goal_data } };
}
