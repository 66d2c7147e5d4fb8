/**
 * What a model reads of a thread: its messages as a transcript, with the length and the digest that a turn's run is
 * given in the place of the conversation. No zod here.
 *
 * X1  It only grows, until its oldest part goes behind a summary, between two turns: a turn's prefix stays the same
 *     for as long as the turn goes on.
 * X2  Every tool call has its result: vendors refuse a conversation with an open one. A call whose result never came
 *     (the run was killed, or the thread was forked there) is closed when somebody speaks next.
 */
import { summaryMessage } from './compaction.js';
import type { ThreadCompaction } from './compaction.js';
import { EMPTY_DIGEST, extendDigest } from './digest.js';
import type { BaseMessage, ToolCall, ToolContent, ToolOutputRef } from './messages.js';
import type { AgentMessage, AgentToolResultContent, AgentToolUseContent } from './thread-records.js';

export interface ThreadContext {
  readonly messages: BaseMessage[];
  /** For each of them, the message of the record that it comes from. */
  readonly origins: number[];
  digest: string;
  /** Of all messages as JSON: for estimates of what a model call will cost. */
  characters: number;
  /** Calls without a result: tool use id → canonical name. */
  readonly open: Map<string, string>;
  /** Of those, questions that somebody has answered: tool use id → the answer. */
  readonly answered: Map<string, string>;
}

const LOST = 'unavailable: The result of this call was lost; the call may or may not have taken effect.';

export function emptyContext(): ThreadContext {
  return { messages: [], origins: [], digest: EMPTY_DIGEST, characters: 0, open: new Map(), answered: new Map() };
}

export function contextOf(messages: readonly AgentMessage[], compaction?: ThreadCompaction): ThreadContext {
  const context = emptyContext();
  const { summary, from = 0, also } = compaction ?? {};
  if (summary !== undefined) add(context, summaryMessage(summary), -1);
  messages.forEach((message, index) => {
    if (index >= from || index === also) foldContext(context, message, index);
  });
  return context;
}

export function foldContext(context: ThreadContext, message: AgentMessage, index: number): void {
  // What a call asks of people is in the call, and the answer in its result.
  if (message.asks !== undefined) return;
  if (message.answers !== undefined && context.open.has(message.answers)) {
    context.answered.set(message.answers, textOf(message));
    return;
  }
  if (message.answers !== undefined) return;
  if (message.role !== 'roboto') closeOpenCalls(context, index);
  const text = textOf(message);
  if (message.role === 'user') {
    add(context, { role: 'user', content: text }, index);
    return;
  }
  if (message.role === 'assistant') {
    const calls = message.content.flatMap((block) => (block.content_type === 'tool_use' ? [toCall(block)] : []));
    for (const call of calls) context.open.set(call.id, call.function.name);
    // A turn that failed before the first word said nothing.
    if (text === '' && calls.length === 0) return;
    const said = { content: text === '' ? null : text, ...(calls.length === 0 ? {} : { tool_calls: calls }) };
    add(context, { role: 'assistant', ...said, meta: { step_id: `message_${index}` } }, index);
    return;
  }
  for (const block of message.content) {
    if (block.content_type !== 'tool_result') continue;
    context.open.delete(block.tool_use_id);
    context.answered.delete(block.tool_use_id);
    add(context, toResult(block), index);
  }
}

function textOf({ content }: AgentMessage): string {
  return content.flatMap((block) => (block.content_type === 'text' ? [block.text] : [])).join('');
}

/** Before somebody speaks, in the message of that index. */
export function closeOpenCalls(context: ThreadContext, index: number): void {
  for (const [tool_call_id, tool_name] of context.open) {
    const answer = context.answered.get(tool_call_id);
    const result = answer === undefined ? { content: LOST, is_error: true } : { content: answer };
    add(context, { role: 'tool', tool_call_id, tool_name, ...result }, index);
  }
  context.open.clear();
  context.answered.clear();
}

function add(context: ThreadContext, message: BaseMessage, origin: number): void {
  const text = JSON.stringify(message);
  context.messages.push(message);
  context.origins.push(origin);
  context.digest = extendDigest(context.digest, text);
  context.characters += text.length;
}

function toCall({ tool_use_id, tool_name, input, raw_request }: AgentToolUseContent): ToolCall {
  const { name, arguments: args, provider_meta } = raw_request ?? {};
  return {
    id: tool_use_id,
    type: 'function',
    function: {
      name: typeof name === 'string' ? name : tool_name,
      arguments: typeof args === 'string' ? args : JSON.stringify(input ?? {}),
    },
    ...(provider_meta === undefined ? {} : { provider_meta }),
  };
}

function toResult({ tool_use_id, tool_name, status, raw_response }: AgentToolResultContent): BaseMessage {
  const { name, content, output_ref, trimmed } = (raw_response ?? {}) as {
    name?: string;
    content?: ToolContent;
    output_ref?: ToolOutputRef;
    trimmed?: boolean;
  };
  return {
    role: 'tool',
    tool_call_id: tool_use_id,
    tool_name: name ?? tool_name,
    content: content ?? '',
    ...(status === 'success' ? {} : { is_error: true }),
    ...(output_ref === undefined ? {} : { output_ref }),
    ...(trimmed === undefined ? {} : { trimmed }),
  };
}
