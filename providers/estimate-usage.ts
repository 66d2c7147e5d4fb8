/**
 * What a call used, where the vendor does not say: counted from the texts, at four bytes of UTF-8 to a token. That is
 * about right for the languages and the code that models are asked for, and never nothing, so that limits hold.
 */
import type { ChatInvokeUsage } from '../contract/completion.js';
import type { BaseMessage } from '../contract/messages.js';
import type { ModelRequest, ModelStreamPart } from '../contract/model-provider.js';
import { utf8Bytes } from '../contract/sizes.js';

const BYTES_PER_TOKEN = 4;
/** Of an image or a document, whatever its bytes are. */
const MEDIA_TOKENS = 1_000;

export function estimateUsage(model: string, { messages, tools }: ModelRequest, output: number): ChatInvokeUsage {
  const read = messages.reduce((sum, message) => sum + messageTokens(message), 0);
  const input = read + tokensOf(tools.length === 0 ? '' : JSON.stringify(tools));
  return { model, input_tokens: input, output_tokens: output, total_tokens: input + output, estimated: true };
}

export interface OutputCount {
  add(part: ModelStreamPart): void;
  /** Of all that was written. */
  tokens(): number;
  /** Without the reasoning, which not every server counts as part of its answer. */
  answerTokens(): number;
}

/** Counts what a model writes, as it comes: text, reasoning, refusals, calls. */
export function createOutputCount(): OutputCount {
  let answer = 0;
  let reasoning = 0;
  return {
    add(part) {
      if (part.type === 'tool_call') answer += utf8Bytes(`${part.name ?? ''}${part.arguments_delta ?? ''}`);
      else if (part.type === 'reasoning') reasoning += utf8Bytes(part.delta);
      else if ('delta' in part) answer += utf8Bytes(part.delta);
    },
    tokens: () => Math.ceil((answer + reasoning) / BYTES_PER_TOKEN),
    answerTokens: () => Math.ceil(answer / BYTES_PER_TOKEN),
  };
}

function messageTokens({ content, ...rest }: BaseMessage): number {
  const calls = 'tool_calls' in rest && rest.tool_calls !== undefined ? JSON.stringify(rest.tool_calls) : '';
  if (content === null || typeof content === 'string') return tokensOf(`${content ?? ''}${calls}`);
  return content.reduce((sum, part) => sum + (part.type === 'text' ? tokensOf(part.text) : MEDIA_TOKENS), 0);
}

function tokensOf(text: string): number {
  return Math.ceil(utf8Bytes(text) / BYTES_PER_TOKEN);
}
