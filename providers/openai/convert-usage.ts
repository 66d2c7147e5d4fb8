import type { ChatInvokeUsage } from '../../contract/completion.js';
import { tokenCount } from '../token-count.js';
import type { UsageReply } from './chunk.js';

/** `input_tokens` includes the cached ones, as OpenAI counts them; its own images are not told apart. */
export function convertUsage(model: string, usage: UsageReply): ChatInvokeUsage {
  const input = tokenCount(usage.prompt_tokens);
  const output = tokenCount(usage.completion_tokens);
  const cached = usage.prompt_tokens_details?.cached_tokens;
  return {
    model,
    input_tokens: input,
    input_cached_tokens: cached === null || cached === undefined ? null : tokenCount(cached),
    output_tokens: output,
    total_tokens: tokenCount(usage.total_tokens ?? input + output),
  };
}
