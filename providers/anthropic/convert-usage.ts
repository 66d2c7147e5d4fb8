import type { ChatInvokeUsage } from '../../contract/completion.js';
import { tokenCount } from '../token-count.js';
import type { UsageReply } from './stream-event.js';

/** `input_tokens` includes what was read from the cache and written to it; Anthropic counts the three apart. */
export function convertUsage(model: string, usage: UsageReply): ChatInvokeUsage {
  const { cache_read_input_tokens: read, cache_creation_input_tokens: written } = usage;
  const input = tokenCount(usage.input_tokens) + tokenCount(read) + tokenCount(written);
  const output = tokenCount(usage.output_tokens);
  return {
    model,
    input_tokens: input,
    input_cached_tokens: read ?? null,
    input_cache_creation_tokens: written ?? null,
    output_tokens: output,
    total_tokens: input + output,
  };
}
