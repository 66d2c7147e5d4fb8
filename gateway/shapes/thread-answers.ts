/** Threads as the published Python client reads them. */
import { z } from 'zod';
import { bareRecord } from '../../client/threads/bare-record.js';
import type { StreamProfile } from '../../contract/profiles.js';
import { profiledMessage, showsGoals, showsTexts } from '../../contract/record-profiles.js';
import type { ThreadHeader } from '../../contract/thread-commands.js';
import { AgentThreadDelta, AgentThreadRecord } from '../../contract/thread-records.js';
import type { AgentThreadGoalRecord } from '../../contract/thread-records.js';

export const ThreadRecord = AgentThreadRecord;

/** Of a list: a record whose messages and goals its token gives, and with the caller's own bookmark. */
export const ListedThread = AgentThreadRecord.extend({
  agent_id: z.string(),
  pinned_at: z.iso.datetime().nullable(),
});

/** `replaces_from` is called `reset_from_message_sequence_num` by newer clients; older ones know neither. */
export const ThreadDelta = AgentThreadDelta.extend({
  reset_from_message_sequence_num: z.number().int().nonnegative().nullable(),
});

export const Sent = z.strictObject({
  thread_id: z.string(),
  state: z.enum(['started', 'queued', 'answered']),
  message_sequence_num: z.number().int().exactOptional(),
  run_id: z.string().exactOptional(),
  ahead: z.number().int().exactOptional(),
  await_id: z.string().exactOptional(),
});

export const Told = z.strictObject({ thread_id: z.string(), run_id: z.string().exactOptional() });

/** Under a profile: what the stream of a run does not show, its thread does not show either. */
export function shownRecord(record: AgentThreadRecord, profile: StreamProfile): AgentThreadRecord {
  const messages = record.messages.map((message) => profiledMessage(profile, message));
  return { ...shownHeader(record, profile), messages, goals: shownGoals(record, profile) };
}

export function shownDelta(delta: AgentThreadDelta, profile: StreamProfile): z.infer<typeof ThreadDelta> {
  const news = Object.entries(delta.messages_by_idx);
  return {
    ...shownHeader(delta, profile),
    messages_by_idx: Object.fromEntries(news.map(([n, message]) => [n, profiledMessage(profile, message)])),
    goals: shownGoals(delta, profile),
    reset_from_message_sequence_num: delta.replaces_from ?? null,
  };
}

/** A title is made of what was said. */
export function shownHeader<T extends { title: string | null }>(header: T, profile: StreamProfile): T {
  return showsTexts(profile) ? header : { ...header, title: null };
}

export function listedThread(header: ThreadHeader, reader: string): z.infer<typeof ListedThread> {
  const { agent_id, pins } = header;
  return { ...bareRecord(header), agent_id, pinned_at: pins?.[reader] ?? null };
}

function shownGoals({ goals }: Pick<AgentThreadRecord, 'goals'>, profile: StreamProfile): AgentThreadRecord['goals'] {
  return showsGoals(profile) ? (goals?.map(shownGoal) ?? null) : null;
}

/** The client makes the goal that it declared of it, type and all. */
function shownGoal(goal: AgentThreadGoalRecord): AgentThreadGoalRecord {
  return { ...goal, goal_data: { goal_type: goal.goal_type, ...goal.goal_data } };
}
