/**
 * What a model reads of a thread: its messages as a transcript, with the length and the digest that a turn's run is
 * given in the place of the conversation. No zod here.
 *
 * X1  It only grows, until its oldest part goes behind a summary, between two turns: a turn's prefix stays the same
 *     for as long as the turn goes on.
 * X2  Every tool call has its result: vendors refuse a conversation with an open one. A call whose result never came
 *     (the run was killed, or the thread was forked there) is closed when somebody speaks next.
 */
import type { CollectedTurn } from './activities.js';
import { summaryMessage } from './compaction.js';
import type { ThreadCompaction } from './compaction.js';
import { EMPTY_DIGEST, extendDigest } from './digest.js';
import { CLIENT_TOOL_PATTERN, clientToolId } from './ids.js';
import type { BaseMessage, ToolCall } from './messages.js';
import type { AgentContent, AgentMessage, AgentToolResultContent, AgentToolUseContent } from './thread-records.js';
import { toldOf } from './tool-blocks.js';

export interface ThreadContext {
  /** What stands between the texts of one message: see `BLANK_LINE`. */
  readonly between: string;
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

/** Between the texts of one message, whoever reads them as one. In threads of before revision 2 there was nothing. */
export const BLANK_LINE = '\n\n';

/** By the revision of the thread. */
export function betweenTexts(revision: number | undefined): string {
  return revision !== undefined && revision >= 2 ? BLANK_LINE : '';
}

export function emptyContext(between: string = BLANK_LINE): ThreadContext {
  const nothing = { messages: [], origins: [], open: new Map(), answered: new Map() };
  return { between, ...nothing, digest: EMPTY_DIGEST, characters: 0 };
}

export function contextOf(
  messages: readonly AgentMessage[],
  compaction?: ThreadCompaction,
  between: string = BLANK_LINE,
): ThreadContext {
  const context = emptyContext(between);
  const { summary, from = 0, also } = compaction ?? {};
  if (summary !== undefined) add(context, summaryMessage(summary), -1);
  messages.forEach((message, index) => {
    if (index >= from || index === also) foldContext(context, message, index);
  });
  return context;
}

export function foldContext(context: ThreadContext, message: AgentMessage, index: number): void {
  // What a call asks of people is in the call, and the answer in its result.
  const content = message.asks === undefined ? message.content.filter((block) => !isAsking(block)) : [];
  if (content.length === 0) return;
  if (message.answers !== undefined) {
    if (context.open.has(message.answers)) context.answered.set(message.answers, textOf(content, context));
    return;
  }
  if (message.role === 'roboto') {
    for (const block of content) if (block.content_type === 'tool_result') close(context, block, index);
    return;
  }
  foldResults(context, content, index);
  closeOpenCalls(context, index);
  const text = textOf(content, context);
  if (message.role === 'user') {
    if (text !== '') add(context, { role: 'user', content: text }, index);
    return;
  }
  const calls = content.flatMap((block) => (block.content_type === 'tool_use' ? [toCall(block)] : []));
  for (const call of calls) context.open.set(call.id, call.function.name);
  // A turn that failed before the first word said nothing.
  if (text === '' && calls.length === 0) return;
  const said = { content: text === '' ? null : text, ...(calls.length === 0 ? {} : { tool_calls: calls }) };
  add(context, { role: 'assistant', ...said, meta: { step_id: `message_${index}` } }, index);
  foldResults(context, content, index);
}

/** Results in a message of the user or the assistant, as a caller may bring them along: those of calls that wait for one. */
export function foldResults(context: ThreadContext, content: readonly AgentContent[], index: number): void {
  for (const block of content)
    if (block.content_type === 'tool_result' && context.open.has(block.tool_use_id)) close(context, block, index);
}

function close(context: ThreadContext, block: AgentToolResultContent, index: number): void {
  context.open.delete(block.tool_use_id);
  context.answered.delete(block.tool_use_id);
  add(context, toResult(block), index);
}

function isAsking(block: AgentContent): boolean {
  return block.content_type === 'text' && block.asks !== undefined;
}

/** What the run of a turn has put behind a summary, in terms of the record. `asked` is the index of the user's message. */
export function compactionOf(
  { origins }: ThreadContext,
  { length, asked }: { length: number; asked: number },
  { summary, thread_messages, turn_messages }: NonNullable<CollectedTurn['compacted']>,
): ThreadCompaction {
  if (turn_messages > 0) return { summary, from: asked + 1 + turn_messages, also: asked };
  const isAll = thread_messages >= length;
  return { summary, from: isAll ? asked : (origins[thread_messages] ?? asked) };
}

/** The texts of a message, read as one. */
export function textOf(content: readonly AgentContent[], { between }: { between: string } = { between: BLANK_LINE }) {
  return content.flatMap((block) => (block.content_type === 'text' ? [block.text] : [])).join(between);
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
      name: typeof name === 'string' ? name : canonicalName(tool_name),
      arguments: typeof args === 'string' ? args : JSON.stringify(input ?? {}),
    },
    ...(provider_meta === undefined ? {} : { provider_meta }),
  };
}

/** Of a call that a caller brought along: which server tool its name means is not known. */
export function canonicalName(name: string): string {
  return CLIENT_TOOL_PATTERN.test(name) ? clientToolId(name) : name;
}

function toResult(block: AgentToolResultContent): BaseMessage {
  const { name, content, output_ref, trimmed } = toldOf(block);
  return {
    role: 'tool',
    tool_call_id: block.tool_use_id,
    tool_name: name,
    content,
    ...(block.status === 'success' ? {} : { is_error: true }),
    ...(output_ref === undefined ? {} : { output_ref }),
    ...(trimmed === undefined ? {} : { trimmed }),
  };
}
