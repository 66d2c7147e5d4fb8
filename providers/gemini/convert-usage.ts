import type { ChatInvokeUsage } from '../../contract/completion.js';
import { tokenCount } from '../token-count.js';
import type { UsageReply } from './chunk.js';

/** `input_tokens` includes the cached ones, as Gemini counts them; thoughts are output. */
export function convertUsage(model: string, usage: UsageReply): ChatInvokeUsage {
  const input = tokenCount(usage.promptTokenCount) + tokenCount(usage.toolUsePromptTokenCount);
  const output = tokenCount(usage.candidatesTokenCount) + tokenCount(usage.thoughtsTokenCount);
  const images = usage.promptTokensDetails?.find(({ modality }) => modality === 'IMAGE')?.tokenCount;
  return {
    model,
    input_tokens: input,
    input_cached_tokens: usage.cachedContentTokenCount ?? null,
    input_image_tokens: images ?? null,
    output_tokens: output,
    total_tokens: tokenCount(usage.totalTokenCount ?? input + output),
  };
}
