import { stopReasonOf, type Arrived, type StopReason } from '../stop-reason.js';

const STOP_REASONS: Readonly<Record<string, StopReason>> = {
  STOP: 'end_turn',
  MAX_TOKENS: 'max_tokens',
  // More would come for another request: what is here is cut.
  CONTINUATION: 'max_tokens',
  SAFETY: 'content_filter',
  RECITATION: 'content_filter',
  LANGUAGE: 'content_filter',
  BLOCKLIST: 'content_filter',
  PROHIBITED_CONTENT: 'content_filter',
  SPII: 'content_filter',
  IMAGE_SAFETY: 'content_filter',
};

/** The answer was withheld for what it would have said: where nothing came, that is a refusal. */
const DECLINED = new Set(['SAFETY', 'BLOCKLIST', 'PROHIBITED_CONTENT', 'SPII']);

export function isDeclined(vendorReason: string | undefined): boolean {
  return DECLINED.has(vendorReason ?? '');
}

/** The model wrote a call that is none. Another try may well be better, so it is an error that is retried. */
export function isBrokenCall(vendorReason: string | undefined): boolean {
  return vendorReason === 'MALFORMED_FUNCTION_CALL' || vendorReason === 'UNEXPECTED_TOOL_CALL';
}

export function mapStopReason(vendorReason: string, arrived: Arrived): StopReason {
  if (arrived.refusal) return 'refusal';
  return stopReasonOf(STOP_REASONS[vendorReason], arrived);
}
