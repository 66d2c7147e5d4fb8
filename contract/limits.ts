/** Bounds of one run and of a whole tree. Durations are milliseconds once parsed. */
import { z } from 'zod';
import { parseDuration } from './durations.js';

export const Duration = z.union([z.number(), z.string()]).transform((value, context) => {
  const milliseconds = parseDuration(value);
  if (milliseconds !== undefined) return milliseconds;
  context.addIssue({ code: 'custom', message: 'is no duration: write milliseconds, or like "30s", "5m", "7d"' });
  return z.NEVER;
});

const count = z.number().int().nonnegative().optional();

export const Limits = z.strictObject({
  max_tool_calls: count,
  /** Counted per decision: a batch whose calls all fail is one. */
  max_consecutive_failed_tool_calls: count,
  max_steps: z.number().int().positive().optional(),
  max_tokens: z.number().int().positive().optional(),
  max_cost_usd: z.number().positive().optional(),
  time_budget: Duration.optional(),
  max_depth: count,
  max_children: count,
});
export type Limits = z.infer<typeof Limits>;
export type LimitName = keyof Limits;

export const LimitName = z.enum([
  'max_tool_calls',
  'max_consecutive_failed_tool_calls',
  'max_steps',
  'max_tokens',
  'max_cost_usd',
  'time_budget',
  'max_depth',
  'max_children',
]) satisfies z.ZodType<LimitName>;

export const RunLimits = z.strictObject({ run: Limits.optional(), tree: Limits.optional() });
export type RunLimits = z.infer<typeof RunLimits>;
