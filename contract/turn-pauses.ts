/**
 * What a turn asks of people, as messages: a question, or a call that wants leave, is said by the assistant, and the
 * answer by the user. No zod here.
 *
 * P1  Whoever is to run the client's tools finds the tool uses in the last message, or in the one before it where the
 *     last has results: published clients look nowhere else. So while a call of the client's has no result, nothing is
 *     put after them but results.
 * P2  Then an approval of the turn's own is a block at the end of the message that has the call. All else that is asked
 *     is held, with its answer, and comes after the last result; what is over by then, without an answer, never comes.
 *     The thread holds it by the same rule (`workflows/thread/hold-pauses.ts`), and takes no answer to it.
 */
import type { EventOf } from './events.js';
import { ASK_CLARIFICATION_TOOL } from './names.js';
import { approvalText, questionText } from './pause-text.js';
import { toolUseId } from './thread-ids.js';
import type { AgentMessage, AgentTextContent, AskedPause } from './thread-records.js';
import { extendLast, finishLast, pushWhole } from './turn-messages.js';
import type { TurnMessages } from './turn-messages.js';

type PauseEvent = EventOf<'await_clarification' | 'await_approval' | 'child_await_changed'>;

export function foldPause(turn: TurnMessages, event: PauseEvent): void {
  if (event.type === 'child_await_changed') return foldChildPause(turn, event);
  const { run_id, await_id, tool_call_id = '', expires_at, at } = event;
  const about = { run_id, await_id, tool_call_id, expires_at };
  if (event.type === 'await_clarification')
    ask(turn, at, { kind: 'clarification', ...about }, questionText(event.question, event.choices));
  else {
    const { name, arguments: args, digest } = event;
    ask(turn, at, { kind: 'approval', ...about, digest }, approvalText(name, args));
  }
}

function foldChildPause(turn: TurnMessages, event: EventOf<'child_await_changed'>): void {
  const { kind, link, await_id, asks, answer, state, at } = event;
  if (state === 'open' && asks !== undefined && kind !== 'external_tools') {
    const { text, tool_call_id = '', digest, expires_at } = asks;
    ask(turn, at, { kind, run_id: link.run_id, await_id, digest, expires_at, tool_call_id }, text);
  }
  if (state !== 'resolved') return;
  const key = `${link.run_id} ${await_id}`;
  const question = turn.questions.get(key);
  if (answer === undefined) drop(turn, key);
  else if (question !== undefined) answerTo(turn, at, question, answer);
}

interface Asking {
  kind: AskedPause['kind'];
  run_id: string;
  await_id: string;
  tool_call_id: string;
  digest?: string | undefined;
  expires_at?: string | undefined;
}

function ask(turn: TurnMessages, at: string, asking: Asking, told: string): void {
  const { kind, run_id, await_id, tool_call_id, digest, expires_at } = asking;
  const tool_use_id = toolUseId(turn.thread_id, run_id, tool_call_id);
  const key = `${run_id} ${await_id}`;
  turn.questions.set(key, tool_use_id);
  const asks: AskedPause = {
    kind,
    tool_use_id,
    run_id,
    await_id,
    ...(digest === undefined ? {} : { digest }),
    ...(expires_at === undefined ? {} : { expires_at }),
  };
  const block: AgentTextContent = { content_type: 'text', text: told === '' ? UNTOLD[kind] : told, asks };
  const message: AgentMessage = { role: 'assistant', content: [block], status: 'completed', created: at };
  if (turn.client_calls.size === 0) pushWhole(turn, message);
  else if (kind === 'approval' && hasUse(turn.messages.at(-1), tool_use_id)) {
    extendLast(turn, block);
    finishLast(turn, 'completed');
  } else turn.held.push({ key, asks, messages: [message] });
}

/** Where a run that is further down did not tell its words. */
const UNTOLD: Record<AskedPause['kind'], string> = {
  clarification: 'There is a question, which the log of the run that asks has.',
  approval: 'A call waits for approval; the log of the run that asks has it.',
};

function hasUse(message: AgentMessage | undefined, toolUse: string): boolean {
  return message?.content.some((block) => block.content_type === 'tool_use' && block.tool_use_id === toolUse) === true;
}

/** A pause of the turn's own run is over. Its answer comes with the result of the call that asked. */
export function foldResolved(turn: TurnMessages, { run_id, await_id, resolution }: EventOf<'await_resolved'>): void {
  if (resolution !== 'answered') drop(turn, `${run_id} ${await_id}`);
}

/** What somebody answered to a question of the turn's own run is the result of the call that asked it. */
export function foldAnswer(turn: TurnMessages, event: EventOf<'tool_result'>): void {
  const { name, status, content, run_id, tool_call_id = '', at } = event;
  if (name !== ASK_CLARIFICATION_TOOL || status !== 'success' || typeof content !== 'string') return;
  const question = toolUseId(turn.thread_id, run_id, tool_call_id);
  if ([...turn.questions.values()].includes(question)) answerTo(turn, at, question, content);
}

function answerTo(turn: TurnMessages, at: string, answers: string, text: string): void {
  if (text === '') return;
  const content = [{ content_type: 'text' as const, text }];
  const message: AgentMessage = { role: 'user', content, status: 'completed', created: at, answers };
  const held = turn.held.find(({ asks }) => asks.tool_use_id === answers);
  if (held === undefined) pushWhole(turn, message);
  else held.messages.push(message);
}

/** The client's tools have their results: what was held is said now. */
export function release(turn: TurnMessages): void {
  for (const { messages } of turn.held.splice(0)) for (const message of messages) pushWhole(turn, message);
}

function drop(turn: TurnMessages, key: string): void {
  turn.held = turn.held.filter((held) => held.key !== key);
}
