/** TaskStep, its parts, and the chunks of the step stream: `seeds/task-steps.md`. */
import { z } from 'zod';

/** Its `ToolCall` and `ToolResult`, which are other ones than those of the transcript. */
export const TaskToolCall = z.object({
  id: z.string(),
  tool_name: z.string(),
  args: z.record(z.string(), z.unknown()),
});
export type TaskToolCall = z.infer<typeof TaskToolCall>;

export const TaskToolResult = z.object({
  tool_call_id: z.string(),
  /** What the tool gave: a text, any other value, or the parts of a result that has images. */
  result: z.unknown(),
  is_error: z.boolean().optional(),
});
export type TaskToolResult = z.infer<typeof TaskToolResult>;

/** Its `text` part: the `TextPart` of the transcript has the same fields. */
export const StepTextPart = z.object({ type: z.literal('text'), text: z.string() });
export type StepTextPart = z.infer<typeof StepTextPart>;

export const ToolCallPart = z.object({ type: z.literal('tool_call'), tool_call: TaskToolCall });
export type ToolCallPart = z.infer<typeof ToolCallPart>;

export const ToolResultPart = z.object({ type: z.literal('tool_result'), tool_result: TaskToolResult });
export type ToolResultPart = z.infer<typeof ToolResultPart>;

export const StepPart = z.discriminatedUnion('type', [StepTextPart, ToolCallPart, ToolResultPart]);
export type StepPart = z.infer<typeof StepPart>;

export const TaskStep = z.object({
  /** Unique over a tree of runs: `<run_id>:<step_id>`. */
  id: z.string(),
  /** Of a child run's steps: the step that called it. */
  parent_id: z.string().optional(),
  agent_name: z.string(),
  parts: z.array(StepPart),
  created_at: z.iso.datetime(),
  metadata: z.record(z.string(), z.unknown()).optional(),
});
export type TaskStep = z.infer<typeof TaskStep>;

export const TaskStepChunk = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text_part_delta'), data: z.string() }),
  z.object({ type: z.literal('tool_call_part'), data: ToolCallPart }),
  z.object({ type: z.literal('tool_result_part'), data: ToolResultPart }),
  z.object({ type: z.literal('step_final'), data: TaskStep }),
]);
export type TaskStepChunk = z.infer<typeof TaskStepChunk>;
