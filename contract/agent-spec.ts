/** An agent as it was when the run was resolved: pinned in history, so that a deploy never changes a run in flight. */
import { z } from 'zod';
import { ToolChoice } from './completion.js';
import { AGENT_ID_PATTERN } from './ids.js';
import { RunLimits } from './limits.js';
import { ANSWERER_PATTERN, TOOL_PATTERN } from './policy.js';
import { SEARCH_ATTRIBUTES } from './names.js';
import { ToolSpec } from './tools.js';

export const AgentId = z.string().regex(AGENT_ID_PATTERN, 'must be service.agent, in [a-z0-9_]');

const patterns = z.array(z.string().regex(TOOL_PATTERN, 'must be a tool id, or end in ".*", or be "*"'));

const answerers = z
  .array(z.string().regex(ANSWERER_PATTERN, 'must be "creator", "org" or "role:" with a role'))
  .optional();

/**
 * As it is written: what is left out denies nothing and asks for nothing, and allows all. Where no policy of a run says
 * who answers it, its creator and admins of its org do.
 */
export const PolicySpec = z.strictObject({
  allow: z.union([z.literal('all'), patterns]).default('all'),
  deny: patterns.default([]),
  approve: patterns.default([]),
  answers: answerers,
  approvals: answerers,
});

/** US dollars per million tokens. */
export const Price = z.object({
  input: z.number().nonnegative(),
  output: z.number().nonnegative(),
  cached_input: z.number().nonnegative().optional(),
  /** Of tokens that are written to a vendor's prompt cache; absent: as any input. */
  cache_write: z.number().nonnegative().optional(),
});
export type Price = z.infer<typeof Price>;

const PinnedModel = z.object({
  profile: z.string(),
  provider: z.string(),
  model: z.string(),
  /** Sent to the vendor as they are: temperature, max_output_tokens, reasoning_effort, … */
  parameters: z.record(z.string(), z.unknown()),
  price: Price.optional(),
  /** What one answer can be at most, for reservations. */
  max_output_tokens: z.number().int().positive().optional(),
  /** The model's window: input and answer together. Absent: not known. */
  context_tokens: z.number().int().positive().optional(),
});
export type PinnedModel = z.infer<typeof PinnedModel>;

/** `fallback`: which profiles are tried, in this order, when the vendor is down. */
export const ModelSpec = PinnedModel.extend({ fallback: z.array(PinnedModel).optional() });
export type ModelSpec = z.infer<typeof ModelSpec>;

/** How patient the runtime is; set by configuration, pinned per run. All in milliseconds. */
export const RuntimeSpec = z.object({
  model_timeout_ms: z.number().int().positive(),
  model_max_attempts: z.number().int().positive(),
  /** How long a vendor that cannot be reached, or takes no request, is asked again; absent: two minutes. */
  model_retry_ms: z.number().int().nonnegative().optional(),
  /** After this long without a heartbeat a worker is taken for dead. */
  heartbeat_timeout_ms: z.number().int().positive(),
  /** How long a canceled tool may take to stop before its call is closed without it. */
  cancel_grace_ms: z.number().int().positive(),
  /** Continue as new at this many history events; absent: when Temporal suggests it. */
  continue_as_new_after_events: z.number().int().positive().optional(),
  /** A pause of its own that lasts longer continues as new; absent: 10 minutes. */
  long_pause_ms: z.number().int().positive().optional(),
  /** How often a run that ends without reaching its goals is told to go on; absent: 2. */
  goal_reprompts: z.number().int().nonnegative().optional(),
  /** Live deltas also as signals into the run, for readers in other processes. */
  signal_live: z.boolean(),
});
export type RuntimeSpec = z.infer<typeof RuntimeSpec>;

const goal = { goal_id: z.string(), goal_type: z.string(), goal_data: z.record(z.string(), z.unknown()) };

/** A goal with the tool that reaches it, or with why there can be none. */
export const GoalSpec = z.union([
  z.object({ ...goal, tool_id: z.string() }),
  z.object({ ...goal, problem: z.string() }),
]);
export type GoalSpec = z.infer<typeof GoalSpec>;

/**
 * Version history:
 * 1  first shape
 */
export const AGENT_SPEC_VERSION = 1;

export const AgentSpec = z.object({
  version: z.literal(AGENT_SPEC_VERSION),
  agent_id: AgentId,
  description: z.string(),
  instructions: z.string(),
  /** Of its messages, for vendors that know names. */
  name: z.string().optional(),
  /** Which tools the model must call; all but `none` is for the first model call of the run. */
  tool_choice: ToolChoice.optional(),
  model: ModelSpec,
  tools: z.array(ToolSpec),
  limits: RunLimits,
  /** The agent declares a last pass that writes the answer. */
  synthesis: z.boolean(),
  /** What becomes of an answer that the vendor's limit cut; absent: it is kept. */
  on_cut_answer: z.enum(['keep', 'continue', 'fail']).optional(),
  runtime: RuntimeSpec,
  /** Those that the namespace has; setting another one would fail the workflow task for ever. */
  search_attributes: z.array(z.enum(SEARCH_ATTRIBUTES)),
  /** The run's own policy and those of its ancestors: all must agree. */
  policies: z.array(PolicySpec).optional(),
  /** Tools that the agent has and the policies deny: calling one is `denied`, not `unavailable`. */
  denied_tools: z.array(z.string()).optional(),
  /** How long a pause waits for its answer, in milliseconds; absent: for ever. */
  await_expires_ms: z.number().int().positive().optional(),
  /** Plans by a function of the application instead of by the model alone. */
  planner: z.boolean().optional(),
  /** What its children may do: how deep below the root this run is. */
  depth: z.number().int().nonnegative().optional(),
  goals: z.array(GoalSpec).optional(),
  /** Optional toolsets whose tools could not be found: the run goes on without them. */
  missing_toolsets: z.array(z.object({ toolset_id: z.string(), reason: z.string() })).optional(),
});
export type AgentSpec = z.infer<typeof AgentSpec>;
