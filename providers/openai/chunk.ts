/** A chunk of a Chat Completions stream: only what we read, and nullish, since compatible servers differ. */
import { z } from 'zod';

const ToolCallDelta = z.object({
  index: z.number().int().nullish(),
  id: z.string().nullish(),
  function: z.object({ name: z.string().nullish(), arguments: z.string().nullish() }).nullish(),
});
export type ToolCallDelta = z.infer<typeof ToolCallDelta>;

const UsageReply = z.object({
  prompt_tokens: z.number().nullish(),
  completion_tokens: z.number().nullish(),
  total_tokens: z.number().nullish(),
  prompt_tokens_details: z.object({ cached_tokens: z.number().nullish() }).nullish(),
  completion_tokens_details: z.object({ reasoning_tokens: z.number().nullish() }).nullish(),
});
export type UsageReply = z.infer<typeof UsageReply>;

const Choice = z.object({
  index: z.number().nullish(),
  delta: z
    .object({
      content: z.string().nullish(),
      refusal: z.string().nullish(),
      // Not OpenAI's: DeepSeek, vLLM and others send the first, OpenRouter and newer vLLM the second.
      reasoning_content: z.string().nullish(),
      reasoning: z.unknown().optional(),
      tool_calls: z.array(ToolCallDelta).nullish(),
    })
    .nullish(),
  finish_reason: z.string().nullish(),
});
export type Choice = z.infer<typeof Choice>;

export const Chunk = z.object({
  id: z.string().nullish(),
  model: z.string().nullish(),
  system_fingerprint: z.string().nullish(),
  choices: z.array(Choice).nullish(),
  usage: UsageReply.nullish(),
});
export type Chunk = z.infer<typeof Chunk>;
