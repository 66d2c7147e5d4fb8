/** The eight agent events of `seeds/core-types.md` section 5. */
import { z } from 'zod';

export const TextEvent = z.object({ type: z.literal('text'), content: z.string(), timestamp: z.number() });
export type TextEvent = z.infer<typeof TextEvent>;

export const ReasoningEvent = z.object({ type: z.literal('reasoning'), content: z.string(), timestamp: z.number() });
export type ReasoningEvent = z.infer<typeof ReasoningEvent>;

export const StepStartEvent = z.object({
  type: z.literal('step_start'),
  step_id: z.string(),
  title: z.string(),
  step_number: z.number().int(),
});
export type StepStartEvent = z.infer<typeof StepStartEvent>;

export const ToolCallEvent = z.object({
  type: z.literal('tool_call'),
  tool: z.string(),
  args: z.record(z.string(), z.unknown()),
  tool_call_id: z.string(),
  display_name: z.string().optional(),
});
export type ToolCallEvent = z.infer<typeof ToolCallEvent>;

export const ToolResultEvent = z.object({
  type: z.literal('tool_result'),
  tool: z.string(),
  result: z.string(),
  tool_call_id: z.string(),
  is_error: z.boolean().optional(),
  screenshot_base64: z.string().nullable().optional(),
});
export type ToolResultEvent = z.infer<typeof ToolResultEvent>;

export const StepCompleteEvent = z.object({
  type: z.literal('step_complete'),
  step_id: z.string(),
  status: z.enum(['completed', 'error']),
  duration_ms: z.number(),
});
export type StepCompleteEvent = z.infer<typeof StepCompleteEvent>;

export const HiddenUserMessageEvent = z.object({ type: z.literal('hidden_user_message'), content: z.string() });
export type HiddenUserMessageEvent = z.infer<typeof HiddenUserMessageEvent>;

export const FinalResponseEvent = z.object({ type: z.literal('final'), content: z.string() });
export type FinalResponseEvent = z.infer<typeof FinalResponseEvent>;

export const AgentEvent = z.discriminatedUnion('type', [
  TextEvent,
  ReasoningEvent,
  StepStartEvent,
  ToolCallEvent,
  ToolResultEvent,
  StepCompleteEvent,
  HiddenUserMessageEvent,
  FinalResponseEvent,
]);
export type AgentEvent = z.infer<typeof AgentEvent>;
