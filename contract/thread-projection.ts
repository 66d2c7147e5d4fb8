/**
 * The messages of one turn as a projection of its run's log. No zod here.
 *
 * J1  Messages only grow: an event appends a message, appends to the last one, or sets its status. What a reader was
 *     given is never taken back, so readers can be sent increments.
 * J2  A message that is followed by another has its final status.
 * J3  Text that follows text in one message goes on with it: increments put together give the same message.
 */
import type { DurableEvent, EventOf } from './events.js';
import { ASK_CLARIFICATION_TOOL } from './names.js';
import { approvalText, questionText } from './pause-text.js';
import type { RunOutcome } from './run.js';
import { toolUseId } from './thread-ids.js';
import { toolResult, toolUse } from './tool-blocks.js';
import type {
  AgentContent,
  AgentErrorContent,
  AgentMessage,
  AgentMessageStatus,
  AgentRole,
  AskedPause,
} from './thread-records.js';

export interface TurnMessages {
  readonly thread_id: string;
  readonly messages: AgentMessage[];
  /** The step that the last message belongs to, and when it began. */
  step_id: string | undefined;
  step_began: string;
  /** Calls of the step that have no result yet. */
  readonly open_calls: Set<string>;
  /** Its goals that are concluded, by their ids. */
  readonly goals: Map<string, { status: 'achieved' | 'failed'; at: string }>;
  /** What was asked of people so far: run and pause → the tool use. */
  readonly questions: Map<string, string>;
}

export function beginTurnMessages(threadId: string): TurnMessages {
  return {
    thread_id: threadId,
    messages: [],
    step_id: undefined,
    step_began: '',
    open_calls: new Set(),
    goals: new Map(),
    questions: new Map(),
  };
}

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
      return;
    case 'text_end':
      say(turn, event.text === '' ? (event.refusal ?? '') : event.text);
      return;
    case 'summary_final':
      // Without a block it repeats the text that ended the last step.
      if (event.block_id !== undefined) say(turn, event.text);
      return;
    case 'tool_requested':
      turn.open_calls.add(event.tool_call_id ?? '');
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
    case 'tool_result':
      foldAnswer(turn, event);
      turn.open_calls.delete(event.tool_call_id ?? '');
      append(lastOf(turn, 'roboto') ?? push(turn, 'roboto', event.at), toolResult(turn, event));
      if (turn.open_calls.size === 0) finishLast(turn, 'completed');
      return;
    case 'reprompted':
      finishLast(turn, 'completed');
      return;
    case 'step_completed':
      if (event.status === 'completed') finishLast(turn, 'completed');
      return;
    case 'goal_achieved':
      turn.goals.set(event.goal_id, { status: 'achieved', at: event.at });
      return;
    case 'goal_failed':
      turn.goals.set(event.goal_id, { status: 'failed', at: event.at });
      return;
    case 'run_completed':
      endTurn(turn, event, event.at);
      return;
    default:
      return;
  }
}

type PauseEvent = EventOf<'await_clarification' | 'await_approval' | 'child_await_changed'>;

/** A question, or a call that wants leave, is said by the assistant; the answer to a child's question by the user. */
function foldPause(turn: TurnMessages, event: PauseEvent): void {
  if (event.type === 'child_await_changed') {
    const { kind, link, await_id, asks, answer, state, at } = event;
    if (state === 'open' && asks !== undefined && kind !== 'external_tools') {
      const { text, tool_call_id = '', digest, expires_at } = asks;
      const about = { kind, run_id: link.run_id, await_id, digest, expires_at };
      ask(turn, at, { ...about, tool_call_id }, text);
    }
    const question = turn.questions.get(`${link.run_id} ${await_id}`);
    if (state === 'resolved' && answer !== undefined && question !== undefined) answerTo(turn, at, question, answer);
    return;
  }
  const { run_id, await_id, tool_call_id = '', expires_at, at } = event;
  const about = { run_id, await_id, tool_call_id, expires_at };
  if (event.type === 'await_clarification')
    ask(turn, at, { kind: 'clarification', ...about }, questionText(event.question, event.choices));
  else {
    const { name, arguments: args, digest } = event;
    ask(turn, at, { kind: 'approval', ...about, digest }, approvalText(name, args));
  }
}

interface Asking {
  kind: AskedPause['kind'];
  run_id: string;
  await_id: string;
  tool_call_id: string;
  digest?: string | undefined;
  expires_at?: string | undefined;
}

function ask(turn: TurnMessages, at: string, asking: Asking, text: string): void {
  const { kind, run_id, await_id, tool_call_id, digest, expires_at } = asking;
  const tool_use_id = toolUseId(turn.thread_id, run_id, tool_call_id);
  turn.questions.set(`${run_id} ${await_id}`, tool_use_id);
  finishLast(turn, 'completed');
  turn.messages.push({
    role: 'assistant',
    content: [{ content_type: 'text', text: text === '' ? UNTOLD[kind] : text }],
    status: 'completed',
    created: at,
    asks: {
      kind,
      tool_use_id,
      run_id,
      await_id,
      ...(digest === undefined ? {} : { digest }),
      ...(expires_at === undefined ? {} : { expires_at }),
    },
  });
}

/** Where a run that is further down did not tell its words. */
const UNTOLD: Record<AskedPause['kind'], string> = {
  clarification: 'There is a question, which the log of the run that asks has.',
  approval: 'A call waits for approval; the log of the run that asks has it.',
};

/** What somebody answered to a question of the turn's own run is the result of the call that asked it. */
function foldAnswer(turn: TurnMessages, event: EventOf<'tool_result'>): void {
  const { name, status, content, run_id, tool_call_id = '', at } = event;
  if (name !== ASK_CLARIFICATION_TOOL || status !== 'success' || typeof content !== 'string') return;
  const question = toolUseId(turn.thread_id, run_id, tool_call_id);
  if ([...turn.questions.values()].includes(question)) answerTo(turn, at, question, content);
}

function answerTo(turn: TurnMessages, at: string, answers: string, text: string): void {
  if (text === '') return;
  finishLast(turn, 'completed');
  const content = [{ content_type: 'text' as const, text }];
  turn.messages.push({ role: 'user', content, status: 'completed', created: at, answers });
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

function say(turn: TurnMessages, text: string): void {
  if (text !== '') append(speaking(turn), { content_type: 'text', text });
}

/** The message that the model is writing. */
function speaking(turn: TurnMessages): AgentMessage {
  return lastOf(turn, 'assistant') ?? push(turn, 'assistant', turn.step_began);
}

/** The last message, while it is being generated and if it is of that role. */
function lastOf(turn: TurnMessages, role: AgentRole): AgentMessage | undefined {
  const last = turn.messages.at(-1);
  return last?.role === role && last.status === 'generating' ? last : undefined;
}

function push(turn: TurnMessages, role: AgentRole, created: string): AgentMessage {
  finishLast(turn, 'completed');
  const message = begin(role, created, []);
  turn.messages.push(message);
  return message;
}

function begin(role: AgentRole, created: string, content: AgentContent[]): AgentMessage {
  return { role, content, status: 'generating', created };
}

function finishLast(turn: TurnMessages, status: AgentMessageStatus): void {
  const last = turn.messages.at(-1);
  if (last !== undefined) turn.messages[turn.messages.length - 1] = ended(last, status);
}

function ended(message: AgentMessage, status: AgentMessageStatus): AgentMessage {
  return message.status === 'generating' ? { ...message, status } : message;
}

/** Appends a block; a text goes on with the text before it. */
export function append(message: AgentMessage, block: AgentContent): void {
  const last = message.content.at(-1);
  if (block.content_type === 'text' && last?.content_type === 'text') {
    message.content[message.content.length - 1] = { ...last, text: last.text + block.text };
  } else message.content.push(block);
}
