/** A scripted reply as a stream. The same reply to the same request gives the same parts, in every process. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ChatInvokeUsage } from '../../contract/completion.js';
import { PerdureError } from '../../contract/errors.js';
import type { BaseMessage } from '../../contract/messages.js';
import type { ModelRequest, ModelStreamPart } from '../../contract/model-provider.js';
import { textOf } from './check-expectation.js';
import type { Reply } from './script.js';

const ARGUMENT_PIECE = 24;
const CHARACTERS_PER_TOKEN = 4;

export async function* playReply(
  reply: Reply,
  request: ModelRequest,
  signal: AbortSignal,
  label: string,
): AsyncGenerator<ModelStreamPart> {
  const parts = partsOf(reply);
  const failAt = reply.fail === undefined ? Number.POSITIVE_INFINITY : (reply.fail.after_deltas ?? 0);
  for (const [sent, part] of parts.entries()) {
    if (sent >= failAt) break;
    if (sent > 0 && reply.delay_ms !== undefined) await pause(reply.delay_ms, signal);
    if (signal.aborted) return;
    yield part;
  }
  if (reply.fail !== undefined) throw failureOf(reply.fail, request, label);
  if (reply.hang) await untilAborted(signal);
  if (signal.aborted) return;
  yield { type: 'finish', stop_reason: stopReasonOf(reply), usage: usageOf(reply, request, parts) };
}

function partsOf(reply: Reply): ModelStreamPart[] {
  return [
    ...wordsOf(reply.thinking).map((delta): ModelStreamPart => ({ type: 'reasoning', delta })),
    ...wordsOf(reply.text).map((delta): ModelStreamPart => ({ type: 'text', delta })),
    ...wordsOf(reply.refusal).map((delta): ModelStreamPart => ({ type: 'refusal', delta })),
    ...(reply.tool_calls ?? []).flatMap((call, index) => callParts(call, index)),
  ];
}

function wordsOf(words: string | readonly string[] | undefined): readonly string[] {
  return typeof words === 'string' ? (words.match(/\s*\S+|\s+$/g) ?? []) : (words ?? []);
}

/** Arguments come in pieces, as they do from a real model. */
function callParts(call: { tool: string; args?: unknown }, index: number): ModelStreamPart[] {
  const text = typeof call.args === 'string' ? call.args : JSON.stringify(call.args ?? {});
  const parts: ModelStreamPart[] = [{ type: 'tool_call', index, name: call.tool }];
  for (let at = 0; at < text.length; at += ARGUMENT_PIECE)
    parts.push({ type: 'tool_call', index, arguments_delta: text.slice(at, at + ARGUMENT_PIECE) });
  return parts;
}

function stopReasonOf(reply: Reply): string {
  if (reply.stop_reason !== undefined) return reply.stop_reason;
  if (reply.tool_calls?.length) return 'tool_use';
  return reply.refusal === undefined ? 'end_turn' : 'refusal';
}

function usageOf(reply: Reply, request: ModelRequest, parts: readonly ModelStreamPart[]): ChatInvokeUsage {
  const input = reply.usage?.input_tokens ?? tokens(request.messages.map(sizeOf));
  const output = reply.usage?.output_tokens ?? tokens(parts.map(partSize));
  return { model: request.model, input_tokens: input, output_tokens: output, total_tokens: input + output };
}

function sizeOf(message: BaseMessage): number {
  const calls = message.role === 'assistant' ? (message.tool_calls ?? []) : [];
  const sizes = calls.map((call) => call.function.name.length + call.function.arguments.length);
  return sizes.reduce((sum, size) => sum + size, textOf(message.content).length);
}

function partSize(part: ModelStreamPart): number {
  if (part.type === 'tool_call') return (part.name?.length ?? 0) + (part.arguments_delta?.length ?? 0);
  return 'delta' in part ? part.delta.length : 0;
}

function tokens(sizes: readonly number[]): number {
  return Math.ceil(sizes.reduce((sum, size) => sum + size, 0) / CHARACTERS_PER_TOKEN);
}

function failureOf(fail: NonNullable<Reply['fail']>, request: ModelRequest, label: string): PerdureError {
  const what = `Attempt ${request.attempt} at ${label} fails, as scripted, in ${request.run_id} (${request.step_id})`;
  return new PerdureError(fail.code, what, {
    provider: 'scripted',
    ...(fail.retry_after_ms === undefined ? {} : { retry_after_ms: fail.retry_after_ms }),
  });
}

async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await sleep(milliseconds, undefined, { signal }).catch(() => undefined);
}

async function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
}
