import { stopReasonOf, type Arrived, type StopReason } from '../stop-reason.js';

const STOP_REASONS: Readonly<Record<string, StopReason>> = {
  stop: 'end_turn',
  tool_calls: 'tool_use',
  function_call: 'tool_use',
  length: 'max_tokens',
  content_filter: 'content_filter',
};

/** OpenAI says `stop` for a call of a forced tool and for a refusal, and compatible servers have words of their own. */
export function mapStopReason(vendorReason: string, arrived: Arrived): StopReason {
  return stopReasonOf(STOP_REASONS[vendorReason], arrived);
}
