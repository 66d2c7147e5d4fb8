/**
 * A model with a window, as strict as vendors are: it refuses what is too long, and calls without results. What it is
 * to do is in the last user message: `steps=3 size=900` calls a tool three times, `linger=3` has the third call take its
 * time, `hold` hangs in the first attempt to summarize, `mute` fails to. It remembers facts (`fact_x`) as long as they are somewhere in what it reads.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { isSummary } from '../../contract/compaction.js';
import { PerdureError } from '../../contract/errors.js';
import type { BaseMessage } from '../../contract/messages.js';
import type { ModelProvider, ModelRequest, ModelStreamPart } from '../../contract/model-provider.js';
import { defineAgent, defineTool } from '../../kit/index.js';
import type { ConfigOptions, ModelProfile, RuntimeOptions } from '../../kit/index.js';
import { z } from 'zod';

export interface WindowModel extends ModelProvider {
  /** What it was asked, refusals too, oldest first. */
  readonly requests: ModelRequest[];
}

export function createWindowModel(windowTokens: number): WindowModel {
  const requests: ModelRequest[] = [];
  return {
    name: 'window',
    requests,
    async *stream(request, signal) {
      requests.push(request);
      const tokens = tokensOf(request.messages);
      if (tokens > windowTokens) throw new PerdureError('model_context_exceeded', `${tokens} > ${windowTokens}`);
      checkPairs(request.messages);
      const isSummarizing = request.step_id.endsWith('.compaction');
      if (isSummarizing && has(request, 'mute')) throw new PerdureError('model_unauthorized', 'as told');
      if (isSummarizing && has(request, 'hold') && request.attempt === 1)
        await sleep(60_000, undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
      yield isSummarizing ? { type: 'text', delta: factsOf(request.messages) } : reply(request);
      const usage = { model: request.model, input_tokens: tokens, output_tokens: 10, total_tokens: tokens + 10 };
      yield { type: 'finish', stop_reason: 'end_turn', usage };
    },
  };
}

function reply(request: ModelRequest): ModelStreamPart {
  const asked = lastUser(request.messages);
  const number = (name: string) => Number(new RegExp(`${name}=(\\d+)`).exec(asked)?.[1] ?? 0);
  const step = Number(request.step_id.slice('step_'.length));
  if (step > number('steps') || request.tool_choice === 'none')
    return { type: 'text', delta: factsOf(request.messages) };
  const linger = number('linger') === step ? 'linger ' : '';
  const text = `fact_s${step} ${linger}${'y'.repeat(number('size'))}`;
  return { type: 'tool_call', index: 0, name: 'test.window.look', arguments_delta: JSON.stringify({ text }) };
}

export function factsOf(messages: readonly BaseMessage[]): string {
  return [...new Set(JSON.stringify(messages).match(/fact_\w+/g))].join(' ');
}

export function tokensOf(messages: readonly BaseMessage[]): number {
  return Math.ceil(JSON.stringify(messages).length / 4);
}

export function lastUser(messages: readonly BaseMessage[]): string {
  const last = messages.findLast((message) => message.role === 'user' && !isSummary(message));
  return typeof last?.content === 'string' ? last.content : '';
}

function has({ messages }: ModelRequest, word: string): boolean {
  return JSON.stringify(messages).includes(word);
}

function checkPairs(messages: readonly BaseMessage[]): void {
  let open: string[] = [];
  for (const message of messages) {
    if (message.role === 'tool') {
      if (!open.includes(message.tool_call_id)) throw new PerdureError('model_bad_request', 'a result without a call');
      open = open.filter((id) => id !== message.tool_call_id);
    } else if (open.length > 0) throw new PerdureError('model_bad_request', `calls without results: ${open.join()}`);
    if (message.role === 'assistant') open = (message.tool_calls ?? []).map((call) => call.id);
  }
}

const look = defineTool({
  tool_id: 'test.window.look',
  description: 'Says the text again.',
  input: z.object({ text: z.string() }),
  idempotent: true,
  async run({ text }, { signal }) {
    if (text.includes('linger')) await sleep(60_000, undefined, { signal });
    return text;
  },
});

export const WINDOW_AGENT = 'test.window';
/** Of the model that workers in processes of their own have. */
export const CRASH_WINDOW = 1_500;

export function windowConfig(model: WindowModel, profile: Partial<ModelProfile>, runtime: RuntimeOptions = {}) {
  return {
    models: { window: { provider: model, model: 'window-1', max_output_tokens: 100, ...profile } },
    agents: [defineAgent({ agent_id: WINDOW_AGENT, instructions: 'Remember.', model: 'window', tools: [look] })],
    runtime: { heartbeat_timeout: '3s', cancel_grace: 500, ...runtime },
  } satisfies ConfigOptions;
}
