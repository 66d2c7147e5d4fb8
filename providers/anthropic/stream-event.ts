/** An event of a Messages stream: only what we read, and nullish, since compatible servers differ. */
import { z } from 'zod';

const UsageReply = z.object({
  input_tokens: z.number().nullish(),
  output_tokens: z.number().nullish(),
  cache_read_input_tokens: z.number().nullish(),
  cache_creation_input_tokens: z.number().nullish(),
  output_tokens_details: z.object({ thinking_tokens: z.number().nullish() }).nullish(),
});
export type UsageReply = z.infer<typeof UsageReply>;

const ContentBlock = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string().nullish() }),
  z.object({ type: z.literal('thinking'), thinking: z.string().nullish(), signature: z.string().nullish() }),
  z.object({ type: z.literal('redacted_thinking'), data: z.string() }),
  z.object({ type: z.literal('tool_use'), id: z.string().nullish(), name: z.string(), input: z.unknown().optional() }),
]);
export type ContentBlock = z.infer<typeof ContentBlock>;

const Delta = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text_delta'), text: z.string() }),
  z.object({ type: z.literal('thinking_delta'), thinking: z.string() }),
  z.object({ type: z.literal('signature_delta'), signature: z.string() }),
  z.object({ type: z.literal('input_json_delta'), partial_json: z.string() }),
  // Where a text comes from; the text itself is whole without it.
  z.object({ type: z.literal('citations_delta') }),
]);
export type Delta = z.infer<typeof Delta>;

const index = z.number().int();

export const StreamEvent = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('message_start'),
    message: z.object({ id: z.string().nullish(), model: z.string().nullish(), usage: UsageReply.nullish() }),
  }),
  z.object({ type: z.literal('content_block_start'), index, content_block: ContentBlock }),
  z.object({ type: z.literal('content_block_delta'), index, delta: Delta }),
  z.object({ type: z.literal('content_block_stop'), index }),
  z.object({
    type: z.literal('message_delta'),
    delta: z.object({
      stop_reason: z.string().nullish(),
      stop_sequence: z.string().nullish(),
      stop_details: z.object({ category: z.string().nullish(), explanation: z.string().nullish() }).nullish(),
    }),
    usage: UsageReply.nullish(),
  }),
  z.object({ type: z.literal('message_stop') }),
  z.object({ type: z.literal('ping') }),
]);
export type StreamEvent = z.infer<typeof StreamEvent>;
