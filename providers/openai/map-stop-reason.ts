type StopReason = 'end_turn' | 'tool_use' | 'max_tokens' | 'refusal' | 'content_filter';

const STOP_REASONS: Readonly<Record<string, StopReason>> = {
  stop: 'end_turn',
  tool_calls: 'tool_use',
  function_call: 'tool_use',
  length: 'max_tokens',
  content_filter: 'content_filter',
};

/**
 * What arrived counts more than `stop`: OpenAI says `stop` for a call of a forced tool and for a refusal, and
 * compatible servers have words of their own. The vendor's word is kept in `provider_meta`.
 */
export function mapStopReason(vendorReason: string, arrived: { toolCalls: boolean; refusal: boolean }): StopReason {
  const reason = STOP_REASONS[vendorReason] ?? 'end_turn';
  if (reason !== 'end_turn') return reason;
  if (arrived.toolCalls) return 'tool_use';
  return arrived.refusal ? 'refusal' : 'end_turn';
}
