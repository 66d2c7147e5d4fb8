/** Transcript messages: `seeds/core-types.md` section 2, and the reasoning message of the design. */
import { z } from 'zod';

export const Role = z.enum(['system', 'user', 'assistant', 'tool']);
export type Role = z.infer<typeof Role>;

export const TextPart = z.object({ type: z.literal('text'), text: z.string() });
export type TextPart = z.infer<typeof TextPart>;

export const ImagePart = z.object({
  type: z.literal('image_url'),
  image_url: z.object({
    /** A data URL, an https URL or `artefact:<id>`. */
    url: z.string(),
    detail: z.enum(['auto', 'low', 'high']).optional(),
    media_type: z.enum(['image/png', 'image/jpeg', 'image/webp', 'image/gif']).optional(),
  }),
});
export type ImagePart = z.infer<typeof ImagePart>;

export const DocumentPart = z.object({
  type: z.literal('document'),
  source: z.object({
    /** base64, or `artefact:<id>`. */
    data: z.string(),
    media_type: z.literal('application/pdf'),
  }),
});
export type DocumentPart = z.infer<typeof DocumentPart>;

export const ContentPart = z.discriminatedUnion('type', [TextPart, ImagePart, DocumentPart]);
export type ContentPart = z.infer<typeof ContentPart>;

export const ToolCall = z.object({
  id: z.string(),
  type: z.literal('function'),
  /** `arguments` is a JSON string, exactly as the model wrote it. */
  function: z.object({ name: z.string(), arguments: z.string() }),
  provider_meta: z.unknown().optional(),
});
export type ToolCall = z.infer<typeof ToolCall>;

const meta = z.unknown().optional();

export const UserMessage = z.object({
  role: z.literal('user'),
  content: z.union([z.string(), z.array(ContentPart)]),
  name: z.string().optional(),
  meta,
});
export type UserMessage = z.infer<typeof UserMessage>;

export const SystemMessage = z.object({
  role: z.literal('system'),
  content: z.union([z.string(), z.array(TextPart)]),
  name: z.string().optional(),
  cache: z.boolean().optional(),
  meta,
});
export type SystemMessage = z.infer<typeof SystemMessage>;

export const AssistantMessage = z.object({
  role: z.literal('assistant'),
  content: z.string().nullable(),
  name: z.string().optional(),
  tool_calls: z.array(ToolCall).optional(),
  refusal: z.string().nullable().optional(),
  meta,
  provider_meta: z.unknown().optional(),
});
export type AssistantMessage = z.infer<typeof AssistantMessage>;

export const ToolOutputRef = z.object({
  id: z.string(),
  byte_size: z.number().int().optional(),
  line_count: z.number().int().optional(),
});
export type ToolOutputRef = z.infer<typeof ToolOutputRef>;

export const ToolContent = z.union([z.string(), z.array(z.discriminatedUnion('type', [TextPart, ImagePart]))]);
export type ToolContent = z.infer<typeof ToolContent>;

export const ToolMessage = z.object({
  role: z.literal('tool'),
  tool_call_id: z.string(),
  tool_name: z.string(),
  content: ToolContent,
  is_error: z.boolean().optional(),
  output_ref: ToolOutputRef.optional(),
  trimmed: z.boolean().optional(),
  meta,
});
export type ToolMessage = z.infer<typeof ToolMessage>;

/** Reasoning in its place among the others; `provider_meta` holds the vendor's signature. */
export const ReasoningMessage = z.object({
  role: z.literal('reasoning'),
  content: z.string(),
  meta,
  provider_meta: z.unknown().optional(),
});
export type ReasoningMessage = z.infer<typeof ReasoningMessage>;

export const BaseMessage = z.discriminatedUnion('role', [
  UserMessage,
  SystemMessage,
  AssistantMessage,
  ToolMessage,
  ReasoningMessage,
]);
export type BaseMessage = z.infer<typeof BaseMessage>;
