/** What a model is asked and what it returns: `seeds/core-types.md` sections 3 and 4. */
import { z } from 'zod';
import { BaseMessage } from './messages.js';

/** JSON Schema, draft-07. */
export const JSONSchema7 = z.record(z.string(), z.unknown());
export type JSONSchema7 = z.infer<typeof JSONSchema7>;

export const ToolDefinition = z.object({
  name: z.string(),
  description: z.string(),
  parameters: JSONSchema7,
  strict: z.boolean().optional(),
});
export type ToolDefinition = z.infer<typeof ToolDefinition>;

/** `auto`, `required`, `none`, or the name of the one tool to call. */
export const ToolChoice = z.string();
export type ToolChoice = 'auto' | 'required' | 'none' | (string & {});

export const ChatInvokeUsage = z.object({
  model: z.string(),
  input_tokens: z.number().int(),
  input_cached_tokens: z.number().int().nullable().optional(),
  input_cache_creation_tokens: z.number().int().nullable().optional(),
  input_image_tokens: z.number().int().nullable().optional(),
  output_tokens: z.number().int(),
  total_tokens: z.number().int(),
  /** The vendor said nothing, or not all of it: counted from the texts. */
  estimated: z.boolean().optional(),
});
export type ChatInvokeUsage = z.infer<typeof ChatInvokeUsage>;

export const ChatInvokeCompletion = z.object({
  messages: z.array(BaseMessage),
  usage: ChatInvokeUsage.nullable().optional(),
  stop_reason: z.string().nullable().optional(),
  provider_meta: z.unknown().optional(),
});
export type ChatInvokeCompletion = z.infer<typeof ChatInvokeCompletion>;
