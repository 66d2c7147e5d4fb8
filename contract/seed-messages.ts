/**
 * What a thread begins with, as callers write it: messages of elsewhere, with calls of tools and their results. Which kind
 * a block is follows from its fields, as the published client sends what it has read.
 *
 * S1  What is taken may be sent again as it is taken, and is the same then: edges check it one after another.
 * S2  A caller says what models read as texts: no vendor's signatures, and no references to the store.
 */
import { z } from 'zod';
import { canonicalName } from './thread-context.js';
import { AgentErrorContent, AgentRole, AgentToolResultContent, AgentToolUseContent } from './thread-records.js';
import { asText, wrapped } from './tool-blocks.js';

const someText = z.string().min(1, 'must not be empty');

export const SpokenRole = AgentRole.exclude(['roboto']).default('user');

/** Blocks may come without their `content_type`. */
export const TextBlock = z
  .strictObject({ content_type: z.literal('text').optional(), text: someText })
  .transform(({ text }) => ({ content_type: 'text' as const, text }));

/** A message of the user, as one text. */
export const OneText = someText.transform((text) => ({
  role: 'user' as const,
  content: [{ content_type: 'text' as const, text }],
}));

const use = { tool_name: someText, tool_use_id: someText };

const SeedResult = AgentToolResultContent.extend({
  ...use,
  content_type: z.literal('tool_result').optional(),
  /** Where newer releases of the published client have what the tool gave. */
  payload: z.unknown().optional(),
  told: z.looseObject({ name: z.string().optional(), content: z.unknown().optional() }).optional(),
});

const SeedUse = AgentToolUseContent.extend({ ...use, content_type: z.literal('tool_use').optional() });

/** The first that fits: a use has less fields than its result. */
const SeedBlock = z
  .union([
    z.object({ content_type: z.literal('text').optional(), text: someText }),
    SeedResult,
    SeedUse,
    AgentErrorContent.extend({ content_type: z.literal('error').optional() }),
  ])
  .transform((block) => {
    if ('text' in block) return { content_type: 'text' as const, text: block.text };
    if ('error_message' in block) return { ...block, content_type: 'error' as const };
    return 'status' in block ? seedResult(block) : seedUse(block);
  });

function seedResult({ payload, raw_response, told, ...block }: z.output<typeof SeedResult>) {
  const given = raw_response ?? (payload == null ? null : wrapped(payload));
  const content = typeof told?.content === 'string' ? { content: told.content } : asText(given ?? {});
  return {
    ...block,
    content_type: 'tool_result' as const,
    raw_response: given,
    told: { name: told?.name ?? canonicalName(block.tool_name), ...content },
  };
}

function seedUse({ raw_request, ...block }: z.output<typeof SeedUse>) {
  const { name, arguments: args } = raw_request ?? {};
  const isOurs = typeof name === 'string' && typeof args === 'string';
  return { ...block, content_type: 'tool_use' as const, raw_request: isOurs ? { name, arguments: args } : null };
}

export const SeedMessage = z.union([OneText, z.object({ role: SpokenRole, content: z.array(SeedBlock).min(1) })], {
  error:
    'must be a text, or {"role": "user" or "assistant", "content": […]} with blocks {"text"}, {"tool_name", "tool_use_id", "input"}, results of such calls, and errors',
});
export type SeedMessage = z.infer<typeof SeedMessage>;
