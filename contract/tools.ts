/** Tools as the workflow sees them: their pinned specification, and what became of a call. */
import { z } from 'zod';
import { JSONSchema7 } from './completion.js';
import { CLIENT_TOOL_PATTERN, STATE_CELL_PATTERN, TOOL_ID_PATTERN } from './ids.js';
import { schemaProblem } from './schema-bounds.js';
import { CHARACTER_LIMITS, CLIENT_TOOLS } from './sizes.js';

export const ToolId = z.string().regex(TOOL_ID_PATTERN, 'must be canonical: service.toolset.tool, in [a-z0-9_]');

/** Of `contract/tool-state.ts`. */
export const StateCell = z.object({
  scope: z.enum(['run', 'shared']),
  name: z.string().regex(STATE_CELL_PATTERN, 'must be like "web.scrolls"'),
});

/** A tool as it was when the run was resolved. */
export const ToolSpec = z.object({
  tool_id: ToolId,
  description: z.string(),
  /** For people: what readers are shown in the place of its id. */
  display_name: z.string().optional(),
  parameters: JSONSchema7,
  strict: z.boolean(),
  timeout_ms: z.number().int().positive(),
  /** Safe to run again after an attempt whose end nobody saw. One that is not gets a single attempt. */
  idempotent: z.boolean(),
  max_attempts: z.number().int().positive(),
  /** What runs it: an activity (if absent; a `goal` is reached by one too), a child run, the caller, or the user's answer. */
  kind: z.enum(['activity', 'agent', 'client', 'clarification', 'goal']).optional(),
  /** The agent that a tool of kind `agent` runs. */
  agent_id: z.string().optional(),
  approval: z.enum(['never', 'always', 'by_arguments']).optional(),
  /** It has functions (approval, prompt, concurrency key) that the admission activity must evaluate. */
  admission: z.boolean().optional(),
  /** What its toolset calls it: of a tool that was found by one. */
  source_name: z.string().optional(),
  /** A function makes the result out of the child's run. */
  finalizer: z.boolean().optional(),
  /** The cells of the durable state that a call is given. */
  reads: z.array(StateCell).optional(),
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

/** A tool on the caller's side: shown to the model, never run by a worker. `seeds/thread-records.md`. */
export const ClientToolSpec = z.strictObject({
  name: z.string().regex(CLIENT_TOOL_PATTERN, 'must begin with client_ and go on in [a-zA-Z0-9_]'),
  description: z.string().min(1).max(CHARACTER_LIMITS.tool_description),
  input_schema: JSONSchema7.superRefine((schema, context) => {
    const problem = schemaProblem(schema);
    if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
  }),
});
export type ClientToolSpec = z.infer<typeof ClientToolSpec>;

/** Those of one request. */
export const ClientTools = z.array(ClientToolSpec).max(CLIENT_TOOLS);
