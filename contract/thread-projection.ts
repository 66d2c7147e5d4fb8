/**
 * The messages of one turn as a projection of its run's log. No zod here.
 *
 * J1  Messages only grow: an event appends a message, appends to the last one, or sets its status. What a reader was
 *     given is never taken back, so readers can be sent increments.
 * J2  A message that is followed by another has its final status.
 * J3  Text that follows text in one message goes on with it: increments put together give the same message.
 */
import type { DurableEvent, EventOf } from './events.js';
import { isClientToolId } from './ids.js';
import type { RunOutcome } from './run.js';
import { toolResult, toolUse } from './tool-blocks.js';
import type { AgentErrorContent, AgentMessage, AgentMessageStatus } from './thread-records.js';
import { foldGoal, foldTry } from './turn-goals.js';
import {
  append,
  begin,
  beginTurnMessages,
  ended,
  extendLast,
  finishLast,
  lastOf,
  push,
  speaking,
} from './turn-messages.js';
import type { TurnMessages } from './turn-messages.js';
import { foldAnswer, foldPause, foldResolved, release } from './turn-pauses.js';

export function projectTurn(threadId: string, events: Iterable<DurableEvent>): TurnMessages {
  const turn = beginTurnMessages(threadId);
  for (const event of events) foldTurn(turn, event);
  return turn;
}

export function foldTurn(turn: TurnMessages, event: DurableEvent): void {
  switch (event.type) {
    case 'step_started':
      turn.step_id = event.step_id;
      turn.step_began = event.at;
      turn.open_calls.clear();
      turn.client_calls.clear();
      return;
    case 'text_end':
      say(turn, event.text === '' ? (event.refusal ?? '') : event.text, event.continues);
      return;
    case 'usage_recorded':
      if (event.stop_reason === 'max_tokens' && lastOf(turn, 'assistant') !== undefined) turn.cut = true;
      return;
    case 'run_phase_changed':
      if (turn.cut && event.phase === 'synthesizing') finishLast(turn, 'completed');
      return;
    case 'summary_final':
      // Without a block it repeats the text that ended the last step.
      if (event.block_id !== undefined) say(turn, event.text);
      return;
    case 'tool_requested':
      turn.cut = false;
      turn.open_calls.add(event.tool_call_id ?? '');
      if (isClientToolId(event.name)) turn.client_calls.add(event.tool_call_id ?? '');
      foldTry(turn, event);
      append(speaking(turn), toolUse(turn, event));
      return;
    case 'tool_scheduled':
    case 'await_external_tools':
      finishLast(turn, 'completed');
      return;
    case 'await_clarification':
    case 'await_approval':
    case 'child_await_changed':
      foldPause(turn, event);
      return;
    case 'await_resolved':
      foldResolved(turn, event);
      return;
    case 'tool_result':
      foldResult(turn, event);
      return;
    case 'reprompted':
      finishLast(turn, 'completed');
      return;
    case 'step_completed':
      if (event.status === 'completed' && !turn.cut) finishLast(turn, 'completed');
      return;
    case 'goal_declared':
    case 'goal_achieved':
    case 'goal_failed':
      foldGoal(turn, event);
      return;
    case 'run_completed':
      endTurn(turn, event, event.at);
      return;
    default:
      return;
  }
}

function foldResult(turn: TurnMessages, event: EventOf<'tool_result'>): void {
  const { tool_call_id = '', at } = event;
  foldAnswer(turn, event);
  turn.open_calls.delete(tool_call_id);
  append(lastOf(turn, 'roboto') ?? push(turn, 'roboto', at), toolResult(turn, event));
  if (turn.open_calls.size === 0) finishLast(turn, 'completed');
  if (turn.client_calls.delete(tool_call_id) && turn.client_calls.size === 0) release(turn);
}

/** The end of the run, or what the thread knows of one that could not write its own. */
export function endTurn(turn: TurnMessages, outcome: RunOutcome, at: string): void {
  if (outcome.status === 'success') finishLast(turn, 'completed');
  else if (outcome.status === 'failed') {
    const { code, message } = outcome.failure;
    endWith(turn, 'failed', { content_type: 'error', error_message: message, error_code: code }, at);
  } else {
    const { reason } = outcome.cancellation;
    endWith(turn, 'cancelled', { content_type: 'error', error_message: CANCELED[reason], error_code: 'cancelled' }, at);
  }
}

const CANCELED: Record<Extract<RunOutcome, { status: 'canceled' }>['cancellation']['reason'], string> = {
  user_requested: 'This answer was cancelled.',
  parent_canceled: 'This answer was cancelled.',
  deadline: 'This answer was cancelled: its time was up.',
  thread_deleted: 'This answer was cancelled: the thread was deleted.',
  engine: 'This answer was cancelled by the system.',
};

function endWith(turn: TurnMessages, status: AgentMessageStatus, error: AgentErrorContent, at: string): void {
  const last = turn.messages.at(-1);
  // Results that never came: the message that waits for them ends like the turn.
  if (last?.role === 'roboto') finishLast(turn, status);
  const message = lastOf(turn, 'assistant') ?? push(turn, 'assistant', at);
  message.content.push(error);
  message.status = status;
}

/** Puts more text, which is being written, at the end; `turn` itself stays as it is. */
export function withLiveText(turn: TurnMessages, text: string): AgentMessage[] {
  if (text === '') return [...turn.messages];
  const last = lastOf(turn, 'assistant');
  if (last === undefined) {
    const before = turn.messages.map((message) => ended(message, 'completed'));
    return [...before, begin('assistant', turn.step_began, [{ content_type: 'text', text }])];
  }
  const copy: AgentMessage = { ...last, content: [...last.content] };
  append(copy, { content_type: 'text', text });
  return [...turn.messages.slice(0, -1), copy];
}

function say(turn: TurnMessages, text: string, continues = false): void {
  if (text === '') return;
  const block = { content_type: 'text' as const, text };
  if (continues && turn.messages.at(-1)?.role === 'assistant') return extendLast(turn, block);
  // It was cut, and the model did not go on with it.
  if (turn.cut) finishLast(turn, 'completed');
  append(speaking(turn), block);
}
