/** A run: who it is, how it is asked for, and how it ends. `seeds/runs-and-streams.md` phases 1 and 5. */
import { z } from 'zod';
import { AgentId, PolicySpec } from './agent-spec.js';
import { CALLER_RUN_ID_PATTERN } from './ids.js';
import { Limits, RunLimits } from './limits.js';
import { ContentPart } from './messages.js';
import { ClientTools } from './tools.js';
import { MAX_GOALS_PER_TURN } from './thread-commands.js';

export const RunPhase = z.enum([
  'prompted',
  'planning',
  'executing_tools',
  'synthesizing',
  'completed',
  'failed',
  'canceled',
]);
export type RunPhase = z.infer<typeof RunPhase>;

export const RunHandle = z.object({
  run_id: z.string(),
  agent_id: z.string(),
  root_run_id: z.string(),
  parent_run_id: z.string().optional(),
  parent_tool_call_id: z.string().optional(),
  thread_id: z.string().optional(),
});
export type RunHandle = z.infer<typeof RunHandle>;

export const RunLink = z.object({ run_id: z.string(), agent_id: z.string(), stream_key: z.string() });
export type RunLink = z.infer<typeof RunLink>;

/** A run that this one started, and the call that did. */
export const StartedChild = RunLink.extend({ tool_call_id: z.string() });
export type StartedChild = z.infer<typeof StartedChild>;

export const RunInput = z.union([z.string().min(1, 'must not be empty'), z.array(ContentPart).min(1)], {
  error: 'must be a text or a list of content parts',
});
export type RunInput = z.infer<typeof RunInput>;

/** What is left can be nothing. */
const Lease = Limits.extend({
  max_steps: z.number().int().nonnegative().optional(),
  max_tokens: z.number().int().nonnegative().optional(),
  max_cost_usd: z.number().nonnegative().optional(),
});

/** Set by the runtime when an agent is used as a tool; from outside it is refused. */
export const ParentRun = z.strictObject({
  run_id: z.string(),
  root_run_id: z.string(),
  tool_call_id: z.string(),
  /** Of the child: 1 under the root. */
  depth: z.number().int().positive(),
  /** What of the tree's limits the child and all below it may spend. */
  lease: Lease,
  policies: z.array(PolicySpec),
});
export type ParentRun = z.infer<typeof ParentRun>;

/**
 * Set by a thread for the run of a turn; from outside it is refused. The conversation so far is not in it: only its
 * length and digest, and the model call reads it from the thread where its worker does not have it.
 */
export const ThreadTurn = z.strictObject({
  turn: z.number().int().positive(),
  length: z.number().int().nonnegative(),
  digest: z.string(),
  /** Of the conversation as JSON: for estimates of what a model call will cost. */
  characters: z.number().int().nonnegative(),
  /** What the client tells the agent beside the message. */
  system_prompt: z.string().optional(),
  analysis_scope: z.record(z.string(), z.unknown()).optional(),
  client_context: z.record(z.string(), z.unknown()).optional(),
});
export type ThreadTurn = z.infer<typeof ThreadTurn>;

export const DeclaredGoal = z.strictObject({
  goal_type: z.string(),
  goal_data: z.record(z.string(), z.unknown()),
});
export type DeclaredGoal = z.infer<typeof DeclaredGoal>;

/** What starts a run: `{"agent_id":"demo.assistant","input":"hello"}` is enough. */
export const RunRequest = z.strictObject({
  agent_id: AgentId,
  input: RunInput,
  /** Who says it, for a model that talks with several: the `name` of the message. */
  input_name: z.string().min(1, 'must not be empty').optional(),
  run_id: z.string().regex(CALLER_RUN_ID_PATTERN, 'may hold letters, digits and . _ : - and no "/"').optional(),
  thread_id: z.string().optional(),
  model_profile: z.string().optional(),
  /** Narrows the agent's own limits; a larger value than the agent's has no effect. */
  limits: RunLimits.optional(),
  /** For whom the run works: see `contract/principal.ts`. A gateway sets them from the credential. */
  org_id: z.string().optional(),
  created_by: z.string().optional(),
  roles: z.array(z.string()).optional(),
  /** For the application's own functions: tools, rules, prompts, planners. The model does not read it. */
  metadata: z.record(z.string(), z.unknown()).optional(),
  /** Send live deltas as signals too, for a reader in another process than the worker. */
  signal_live: z.boolean().optional(),
  /** Narrows the agent's own policy. */
  policy: PolicySpec.optional(),
  client_tools: ClientTools.optional(),
  parent: ParentRun.optional(),
  thread: ThreadTurn.optional(),
  /** Set by the runtime: the shared cells of the tools' state, for the run of a turn and for a child. */
  tool_state: z.record(z.string(), z.array(z.object({ key: z.string(), value: z.unknown() }))).optional(),
  /** What the run is to achieve, of the goal types of the configuration. */
  goals: z.array(DeclaredGoal).max(MAX_GOALS_PER_TURN).optional(),
});
export type RunRequest = z.infer<typeof RunRequest>;
/** A request as a caller writes it: durations may be text. */
export type RunRequestInput = z.input<typeof RunRequest>;

export const Failure = z.object({
  code: z.string(),
  /** Safe to show a user. */
  message: z.string(),
  /** For operators: ids, causes, the next step. */
  debug_message: z.string(),
  retryable: z.boolean(),
  provider: z.string().optional(),
  http_status: z.number().int().optional(),
});
export type Failure = z.infer<typeof Failure>;

export const CancelReason = z.enum(['user_requested', 'parent_canceled', 'deadline', 'thread_deleted', 'engine']);
export type CancelReason = z.infer<typeof CancelReason>;

export const Cancellation = z.object({ reason: CancelReason, note: z.string().optional() });
export type Cancellation = z.infer<typeof Cancellation>;

/** What was spent. `cost_usd` is absent where no price is known. */
export const RunUsage = z.object({
  model_calls: z.number().int(),
  tool_calls: z.number().int(),
  input_tokens: z.number().int(),
  output_tokens: z.number().int(),
  total_tokens: z.number().int(),
  cost_usd: z.number().optional(),
  /**
   * What limits were charged for attempts that reported no usage, and for children whose end nobody saw: the
   * reservation or the lease, on top of the tokens and the cost above. Absent where there were none.
   */
  charged_tokens: z.number().int().optional(),
  charged_cost_usd: z.number().optional(),
  /** Steps that planned; a synthesis pass is paid from what was held back for it. */
  steps: z.number().int().optional(),
  /** Child runs that were started. */
  children: z.number().int().optional(),
});
export type RunUsage = z.infer<typeof RunUsage>;

/** The three ways a run can end; a success without an answer cannot be written down. */
export const successOutcome = {
  status: z.literal('success'),
  phase: z.literal('completed'),
  answer: z.string(),
  /** Why the model stopped: `end_turn`; `max_tokens` of an answer that its limit cut. */
  stop_reason: z.string().optional(),
};
export const failedOutcome = {
  status: z.literal('failed'),
  phase: z.literal('failed'),
  failure: Failure,
};
export const canceledOutcome = {
  status: z.literal('canceled'),
  phase: z.literal('canceled'),
  cancellation: Cancellation,
};

export const RunOutcome = z.discriminatedUnion('status', [
  z.object(successOutcome),
  z.object(failedOutcome),
  z.object(canceledOutcome),
]);
export type RunOutcome = z.infer<typeof RunOutcome>;

const output = {
  version: z.literal(1),
  run: RunHandle,
  usage: RunUsage,
  tree_usage: RunUsage,
  /** The runs that it started, in order; absent where there are none. */
  children: z.array(StartedChild).optional(),
  /** What is new in the shared cells of the tools' state: for the run or the thread that started this one. */
  tool_state: z
    .record(
      z.string(),
      z.object({
        added: z.array(z.object({ key: z.string(), value: z.unknown() })),
        changed: z.array(z.object({ key: z.string(), from: z.unknown(), to: z.unknown() })),
      }),
    )
    .optional(),
};

/** Version history: 1 first shape. */
export const RunOutput = z.discriminatedUnion('status', [
  z.object({ ...output, ...successOutcome }),
  z.object({ ...output, ...failedOutcome }),
  z.object({ ...output, ...canceledOutcome }),
]);
export type RunOutput = z.infer<typeof RunOutput>;
