import { stopReasonOf, type Arrived, type StopReason } from '../stop-reason.js';

const STOP_REASONS: Readonly<Record<string, StopReason>> = {
  end_turn: 'end_turn',
  stop_sequence: 'end_turn',
  tool_use: 'tool_use',
  max_tokens: 'max_tokens',
  // The answer ran into the end of the context window: cut as at the limit of its own.
  model_context_window_exceeded: 'max_tokens',
  refusal: 'refusal',
};

export function mapStopReason(vendorReason: string, arrived: Arrived): StopReason {
  return stopReasonOf(STOP_REASONS[vendorReason], arrived);
}
