/** Events in one sentence or one line, the same in every view. */
import type { StreamEvent } from '../../client/index.js';
import type { EventOf } from '../../contract/events.js';
import { count, duration, line, usage, withoutStack } from '../format.js';
import type { RunSummary } from './run-view.js';

export function countOf({ limit, maximum, used, requested }: EventOf<'budget_exceeded'>): string {
  const more = requested === undefined ? '' : `, ${requested} more asked for`;
  return `the limit ${limit} says stop (${used} of ${maximum} used${more}): the model answers with what it has`;
}

export function fileOf({ filename, mime_type, byte_size }: EventOf<'file_generated'>): string {
  return `file: ${line(filename)} (${mime_type}, ${count(byte_size, 'byte')})`;
}

export function summaryOf(event: EventOf<'run_completed'>, steps: number): RunSummary {
  const { run_id, usage: used, tree_usage, duration_ms, status } = event;
  const children = tree_usage.children ?? 0;
  const facts = [
    count(steps, 'step'),
    count(used.tool_calls, 'tool'),
    count(used.total_tokens, 'token'),
    ...(children === 0 ? [] : [`tree of ${count(children + 1, 'run')}, ${count(tree_usage.total_tokens, 'token')}`]),
    ...(event.status === 'success' && event.stop_reason === 'max_tokens' ? ['cut at the model’s limit'] : []),
    duration(duration_ms),
    run_id,
  ].join(' · ');
  const text = `${status} · ${facts}`;
  switch (event.status) {
    case 'success':
      return { tone: 'good', text };
    case 'failed':
      return { tone: 'bad', text, reason: `${event.failure.code}: ${withoutStack(event.failure.debug_message)}` };
    case 'canceled':
      return { tone: 'stopped', text, reason: cancelReason(event.cancellation) };
  }
}

export function cancelReason({ reason, note }: { reason: string; note?: string | undefined }): string {
  return `canceled: ${reason}${note === undefined ? '' : ` (${note})`}`;
}

type GoalEvent = EventOf<'goal_declared' | 'goal_achieved' | 'goal_failed' | 'reprompted'>;

export function goalLine(event: GoalEvent): string {
  switch (event.type) {
    case 'goal_declared':
      return `${event.goal_id}: ${event.goal_type}`;
    case 'goal_achieved':
      return `${event.goal_id}: achieved`;
    case 'goal_failed':
      return `${event.goal_id}: failed, ${line(event.reason)}`;
    case 'reprompted':
      return `the model is asked to go on: ${line(event.reason)}`;
  }
}

/** What an event says, without its type and its time: for a log with one line each. */
export function gistOf(event: StreamEvent): string {
  switch (event.type) {
    case 'run_started':
      return line(typeof event.input === 'string' ? event.input : `${event.input.length} parts`);
    case 'run_phase_changed':
      return event.previous_phase === undefined ? event.phase : `${event.previous_phase} → ${event.phase}`;
    case 'step_started':
      return event.title;
    case 'step_completed':
      return `${event.status} in ${duration(event.duration_ms)}`;
    case 'usage_recorded':
      return `${event.usage.model}: ${event.usage.input_tokens} in, ${event.usage.output_tokens} out`;
    case 'thinking_end':
    case 'text_end':
    case 'summary_final':
    case 'notice_posted':
      return line(event.text);
    case 'tool_requested':
      return line(`${event.name} ${event.arguments}`);
    case 'tool_scheduled':
      return `${event.tool_id ?? ''}, at most ${duration(event.timeout_ms)}`;
    case 'tool_progress':
      return line(event.message);
    case 'tool_retry':
      return `attempt ${event.attempt}: ${line(event.reason)}`;
    case 'tool_result': {
      const how = event.status === 'success' ? 'success' : `${event.failure.kind}: ${line(event.failure.message)}`;
      return `${event.name} ${how} in ${duration(event.duration_ms)}`;
    }
    case 'file_generated':
      return fileOf(event);
    case 'attempt_retracted':
      return `attempts up to ${event.attempt}`;
    case 'model_fallback':
      return `${event.from} to ${event.to}: ${line(event.reason)}`;
    case 'context_compacted':
      return `${event.messages} messages as a summary: about ${event.tokens_before} to ${event.tokens_after} tokens`;
    case 'budget_exceeded':
      return countOf(event);
    case 'agent_run_started':
      return `${event.link.agent_id} ${event.link.run_id}`;
    case 'child_await_changed':
      return `${event.link.run_id} ${event.await_id}: ${event.state}`;
    case 'policy_decided':
      return `${event.tool_id ?? ''}: ${event.decision}, ${event.reason}`;
    case 'await_clarification':
      return `${event.await_id}: ${line(event.question)}`;
    case 'await_approval':
      return `${event.await_id}: ${line(`${event.name} ${event.arguments}`)}`;
    case 'await_external_tools':
      return `${event.await_id}: ${event.calls.map((call) => line(`${call.name} ${call.arguments}`)).join('; ')}`;
    case 'await_resolved': {
      const by = event.answered_by === undefined ? '' : ` by ${event.answered_by}`;
      return `${event.await_id}: ${event.resolution}${by}${event.note === undefined ? '' : ` (${line(event.note)})`}`;
    }
    case 'answer_rejected':
      return line(event.reason);
    case 'goal_declared':
    case 'goal_achieved':
    case 'goal_failed':
    case 'reprompted':
      return goalLine(event);
    case 'run_completed':
      if (event.status === 'failed')
        return `failed: ${event.failure.code}: ${line(withoutStack(event.failure.debug_message))}`;
      if (event.status === 'canceled') return cancelReason(event.cancellation);
      return `${event.status}, ${usage(event.usage)}`;
    case 'stream_ended':
      return event.message;
    default:
      return '';
  }
}
