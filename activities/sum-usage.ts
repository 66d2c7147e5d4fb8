import type { ChatInvokeUsage } from '../contract/completion.js';

/** Nothing where the model was not called; unknown where one call did not say. */
export function sumUsage(
  model: string,
  usages: readonly (ChatInvokeUsage | null | undefined)[],
): ChatInvokeUsage | null {
  const total: ChatInvokeUsage = { model, input_tokens: 0, output_tokens: 0, total_tokens: 0 };
  for (const usage of usages) {
    if (!usage) return null;
    total.input_tokens += usage.input_tokens;
    total.output_tokens += usage.output_tokens;
    total.total_tokens += usage.total_tokens;
    if (usage.estimated === true) total.estimated = true;
    if (usage.input_cached_tokens)
      total.input_cached_tokens = (total.input_cached_tokens ?? 0) + usage.input_cached_tokens;
    if (usage.input_cache_creation_tokens)
      total.input_cache_creation_tokens = (total.input_cache_creation_tokens ?? 0) + usage.input_cache_creation_tokens;
    if (usage.input_image_tokens) total.input_image_tokens = (total.input_image_tokens ?? 0) + usage.input_image_tokens;
  }
  return total;
}
