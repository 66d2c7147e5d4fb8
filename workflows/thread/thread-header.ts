/** What a client is told of a thread, beside its messages. */
import type { ThreadHeader, ThreadSettings } from '../../contract/thread-commands.js';
import type { AgentMessage, AgentThreadGoalRecord } from '../../contract/thread-records.js';
import { visibilityOf } from '../../contract/thread-visibility.js';
import type { Goal, Thread } from './thread-state.js';

export function headerOf(thread: Thread): ThreadHeader {
  const { thread_id, created, status, title, counter, changed, turn, queue, deleted } = thread;
  const request = thread.opened?.request ?? thread.raw;
  const forked = request.forked_from;
  return {
    record: {
      thread_id,
      org_id: request.org_id ?? '',
      created,
      created_by: request.created_by ?? '',
      created_from_agent_id: request.created_from_agent_id ?? null,
      forked_from_thread_id: forked?.thread_id ?? null,
      forked_from_message_sequence_num: forked?.message_sequence_num ?? null,
      visibility: visibilityOf(request),
      model_profile: request.model_profile ?? thread.opened?.model_profile ?? null,
    },
    agent_id: request.agent_id ?? '',
    ready: thread.opened !== undefined,
    status,
    title: deleted ? null : title,
    goals: deleted ? [] : thread.goals.map(shown),
    counter,
    changed,
    turns: thread.turns,
    ...(turn === undefined ? {} : { turn: { run_id: turn.run_id } }),
    queued: queue.length,
    pending: thread.pending,
    given: thread.given.map((use) => use.tool_use_id),
    pauses: thread.pauses,
    deleted,
    ...(request.mark === undefined ? {} : { mark: request.mark }),
    unseen: thread.unseen,
    pins: thread.pins,
  };
}

/** Of a deleted thread: nothing. */
export function settingsOf({ deleted, opened, analysis_scope, compaction }: Thread): ThreadSettings {
  const { system_prompt, model_profile = null, roles, metadata } = opened?.request ?? {};
  if (deleted) return {};
  return {
    model_profile,
    ...(system_prompt == null ? {} : { system_prompt }),
    ...(analysis_scope === undefined ? {} : { analysis_scope }),
    ...(compaction === undefined ? {} : { compaction }),
    ...(roles === undefined ? {} : { roles }),
    ...(metadata === undefined ? {} : { metadata }),
  };
}

function shown(goal: Goal): AgentThreadGoalRecord {
  const { turn: _turn, ...record } = goal;
  // Of one that was carried from before it was noted.
  return { ...record, achieve_tool_use_id: record.achieve_tool_use_id ?? null };
}

/** A message that waits for its turn. */
export function queuedMessage({ created, queue }: Thread, index: number): AgentMessage {
  const { message, at = created } = queue[index] ?? { message: { role: 'user', content: [] } };
  return { ...message, status: 'not_started', created: at };
}
