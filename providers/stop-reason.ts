/** How a stream ended, in our words. The vendor's own word is kept in `provider_meta`. */
import { PerdureError } from '../contract/errors.js';
import type { ModelStreamPart } from '../contract/model-provider.js';

export type StopReason = 'end_turn' | 'tool_use' | 'max_tokens' | 'refusal' | 'content_filter';

export interface Arrived {
  content: boolean;
  toolCalls: boolean;
  refusal: boolean;
}

export function noteArrival(arrived: Arrived, part: ModelStreamPart): void {
  arrived.content = true;
  arrived.toolCalls ||= part.type === 'tool_call';
  arrived.refusal ||= part.type === 'refusal';
}

/** What arrived counts more than a word for "stopped", or than one that we do not know. */
export function stopReasonOf(named: StopReason | undefined, arrived: Arrived): StopReason {
  if (named !== undefined && named !== 'end_turn' && named !== 'tool_use') return named;
  if (arrived.toolCalls) return 'tool_use';
  return arrived.refusal ? 'refusal' : 'end_turn';
}

/**
 * No reason: the stream was cut. No content either: it was empty. The two are different errors. An answer that is
 * empty because its tokens were used up, or filtered out, is one: the next attempt gets no other.
 */
export function checkEnd(
  provider: string,
  from: string,
  reason: string | undefined,
  stopReason: StopReason,
  { content }: Arrived,
): void {
  if (reason === undefined && content) throw cut(provider, `${from} ended without saying why it stopped`);
  if (!content && stopReason !== 'max_tokens' && stopReason !== 'content_filter')
    throw new PerdureError('model_stream_empty', `${from} ended without any content`, { provider });
}

export function cut(provider: string, what: string): PerdureError {
  return new PerdureError('model_stream_cut', what, { provider });
}

/** Leaves out what the vendor did not say. */
export function present(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null));
}
