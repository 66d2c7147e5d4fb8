/** Tools as the workflow sees them: their pinned specification, and what became of a call. */
import { z } from 'zod';
import { JSONSchema7 } from './completion.js';
import { TOOL_ID_PATTERN } from './ids.js';

export const ToolId = z.string().regex(TOOL_ID_PATTERN, 'must be canonical: service.toolset.tool, in [a-z0-9_]');

/** A tool as it was when the run was resolved. */
export const ToolSpec = z.object({
  tool_id: ToolId,
  description: z.string(),
  parameters: JSONSchema7,
  strict: z.boolean(),
  timeout_ms: z.number().int().positive(),
  /** Safe to run again after an attempt whose end nobody saw. One that is not gets a single attempt. */
  idempotent: z.boolean(),
  max_attempts: z.number().int().positive(),
});
export type ToolSpec = z.infer<typeof ToolSpec>;

export const ToolFailureKind = z.enum([
  'invalid_call',
  'denied',
  'capped',
  'unavailable',
  'rate_limited',
  'timeout',
  'expired',
  'outcome_unknown',
  'malformed_result',
  'canceled',
  'internal',
]);
export type ToolFailureKind = z.infer<typeof ToolFailureKind>;

export const ToolFailure = z.object({
  kind: ToolFailureKind,
  message: z.string(),
  issues: z.array(z.object({ path: z.string(), message: z.string() })),
  /** What the model should do about it. */
  recovery: z.enum(['correct_call', 'replan', 'finish']),
});
export type ToolFailure = z.infer<typeof ToolFailure>;
