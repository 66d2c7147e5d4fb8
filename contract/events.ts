/**
 * The durable events of a run's log. One union gives the type, the parser, the wire names and the reference page
 * (`docs/events.md`, by `npm run docs`). Names and fields are wire format: golden files lock them.
 */
import { z } from 'zod';
import { ChatInvokeUsage } from './completion.js';
import { LimitName } from './limits.js';
import { ContentPart, ToolContent, ToolOutputRef } from './messages.js';
import { canceledOutcome, failedOutcome, RunLink, RunPhase, RunUsage, successOutcome } from './run.js';
import { ToolFailure } from './tools.js';

/** Who says it: the run, and where it makes sense the step and the tool call. Live events carry the same. */
export const provenance = {
  run_id: z.string(),
  agent_id: z.string(),
  root_run_id: z.string(),
  parent_run_id: z.string().optional(),
  parent_tool_call_id: z.string().optional(),
  thread_id: z.string().optional(),
  step_id: z.string().optional(),
  tool_id: z.string().optional(),
  tool_call_id: z.string().optional(),
};

const envelope = {
  seq: z.number().int().nonnegative(),
  /** `<run_id>:<seq>` */
  event_id: z.string(),
  at: z.iso.datetime(),
  ...provenance,
};

function event<T extends string, S extends z.core.$ZodLooseShape>(type: T, about: string, shape: S) {
  return z.object({ type: z.literal(type), ...envelope, ...shape }).describe(about);
}

const block = { block_id: z.string(), attempt: z.number().int() };
const providerMeta = { provider_meta: z.unknown().optional() };
const expires = { expires_at: z.iso.datetime().optional() };

// run
export const RunStarted = event('run_started', 'The run exists; its input, as it was given.', {
  /** Empty only where a profile hides it. */
  input: z.union([z.string(), z.array(ContentPart)]),
  /** Who says it, where the request does. */
  input_name: z.string().optional(),
});
export const RunPhaseChanged = event('run_phase_changed', 'The run is in another phase.', {
  phase: RunPhase,
  previous_phase: RunPhase.optional(),
});
const ending = { usage: RunUsage, tree_usage: RunUsage, duration_ms: z.number().int() };
const about = 'The run has ended: always the last event, exactly once.';
export const RunCompleted = z.discriminatedUnion('status', [
  event('run_completed', about, { ...successOutcome, ...ending }),
  event('run_completed', about, { ...failedOutcome, ...ending }),
  event('run_completed', about, { ...canceledOutcome, ...ending }),
]);
export const AgentRunStarted = event('agent_run_started', 'A tool call started a child run.', { link: RunLink });
export const ChildAwaitChanged = event('child_await_changed', 'A child run pauses for someone, or goes on.', {
  link: RunLink,
  await_id: z.string(),
  kind: z.enum(['clarification', 'external_tools', 'approval']),
  state: z.enum(['open', 'resolved']),
  /** Below a thread: what is asked, and what was answered to a question, as the thread shows it. */
  asks: z
    .object({
      text: z.string(),
      tool_call_id: z.string().optional(),
      digest: z.string().optional(),
      ...expires,
    })
    .optional(),
  answer: z.string().optional(),
});

// step
export const StepStarted = event('step_started', 'A model call begins, and the tools it will ask for.', {
  step_number: z.number().int(),
  title: z.string(),
});
export const StepCompleted = event('step_completed', 'A step is over.', {
  status: z.enum(['completed', 'error']),
  duration_ms: z.number().int(),
});
export const UsageRecorded = event('usage_recorded', 'What a model call used.', {
  usage: ChatInvokeUsage,
  /** Why the model stopped: `end_turn`, `tool_use`, `max_tokens`, `refusal`, `content_filter`. */
  stop_reason: z.string().optional(),
});

// thinking, text, summary, attempts
export const ThinkingEnd = event('thinking_end', 'A stretch of reasoning, whole.', {
  ...block,
  text: z.string(),
  ...providerMeta,
});
export const TextEnd = event('text_end', 'A stretch of text, whole.', {
  ...block,
  text: z.string(),
  /** The model refused, in these words: they are the text. */
  refusal: z.string().optional(),
  interrupted: z.boolean().optional(),
  /** It goes on, in the middle of a word if need be, where the text of the step before was cut. */
  continues: z.boolean().optional(),
  ...providerMeta,
});
export const SummaryFinal = event('summary_final', 'The answer, whole: exactly one in a completed run.', {
  text: z.string(),
  /** Set when the answer came from a synthesis pass; otherwise it repeats the text that ended the last step, with the steps that it continues. */
  block_id: z.string().optional(),
  attempt: z.number().int().optional(),
  ...providerMeta,
});
export const AttemptRetracted = event('attempt_retracted', 'All that attempts up to this one showed is void.', {
  attempt: z.number().int(),
});
export const ModelFallback = event(
  'model_fallback',
  'A vendor is down; the next model profile of the chain is asked.',
  {
    from: z.string(),
    to: z.string(),
    reason: z.string(),
    attempt: z.number().int(),
  },
);

// context
export const ContextCompacted = event(
  'context_compacted',
  'The oldest messages of the conversation are read as a summary from here on.',
  {
    summary: z.string(),
    /** How many it took the place of, and the digest of these. */
    messages: z.number().int(),
    digest: z.string(),
    /** How many of the conversation that the thread gave the run are behind it now, and how many of the run's own. */
    thread_messages: z.number().int(),
    run_messages: z.number().int(),
    /** By our estimate it would not have fit, or the vendor said so. */
    reason: z.enum(['window', 'refused']),
    /** Of the conversation, by estimate. */
    tokens_before: z.number().int(),
    tokens_after: z.number().int(),
  },
);

// tools
export const ToolRequested = event('tool_requested', 'The model asks for a tool, in its own words.', {
  name: z.string(),
  arguments: z.string(),
  /** What people call the tool, where its author says so. */
  display_name: z.string().optional(),
  ...providerMeta,
});
export const ToolScheduled = event('tool_scheduled', 'An admitted call is on its way to a worker.', {
  timeout_ms: z.number().int(),
});
export const ToolProgress = event('tool_progress', 'A tool says how far it is.', {
  message: z.string(),
  fraction: z.number().min(0).max(1).optional(),
  live_id: z.string(),
});
export const ToolRetry = event('tool_retry', 'A tool is tried again.', {
  attempt: z.number().int(),
  reason: z.string(),
  live_id: z.string(),
});
const toolOutcome = {
  name: z.string(),
  content: ToolContent,
  output_ref: ToolOutputRef.optional(),
  trimmed: z.boolean().optional(),
  duration_ms: z.number().int(),
  attempts: z.number().int(),
  screenshot_base64: z.string().optional(),
  link: RunLink.optional(),
};
const resultAbout = 'What became of a call: exactly one for each that was requested.';
export const ToolResult = z.discriminatedUnion('status', [
  event('tool_result', resultAbout, {
    status: z.literal('success'),
    ...toolOutcome,
    /** What the tool gave where that is no text: `content` is its JSON. Absent where it would be too large. */
    value: z.unknown().optional(),
  }),
  event('tool_result', resultAbout, {
    status: z.literal('error'),
    failure: ToolFailure,
    ...toolOutcome,
    /** What its code threw, with the stack: for its author. The model and users get the failure alone. */
    debug_message: z.string().optional(),
  }),
]);
export const NoticePosted = event('notice_posted', 'A text that a tool shows to the user.', { text: z.string() });

// policy
export const PolicyDecided = event('policy_decided', 'A call was allowed, denied or sent for approval.', {
  decision: z.enum(['allow', 'deny', 'approve']),
  rule: z.string().optional(),
  reason: z.string(),
});
export const BudgetExceeded = event('budget_exceeded', 'A limit says stop; a synthesis pass follows.', {
  scope: z.enum(['run', 'tree']),
  limit: LimitName,
  maximum: z.number(),
  used: z.number(),
  requested: z.number().optional(),
});

// awaits
export const AwaitClarification = event('await_clarification', 'The run waits for an answer from the user.', {
  await_id: z.string(),
  question: z.string(),
  choices: z.array(z.string()).optional(),
  ...expires,
});
export const AwaitExternalTools = event('await_external_tools', 'The run waits for results of the caller’s tools.', {
  await_id: z.string(),
  calls: z.array(z.object({ tool_call_id: z.string(), name: z.string(), arguments: z.string() })),
  ...expires,
});
export const AwaitApproval = event('await_approval', 'The run waits for a person to approve a call.', {
  await_id: z.string(),
  name: z.string(),
  /** What the tool would be given. */
  arguments: z.string(),
  digest: z.string(),
  /** The call as it is to be shown, the tool's name last; absent where that is its arguments and its name. */
  rendering: z.string().optional(),
  ...expires,
});
export const AwaitResolved = event('await_resolved', 'A wait is over.', {
  await_id: z.string(),
  resolution: z.enum(['answered', 'approved', 'denied', 'expired', 'canceled']),
  answered_by: z.string().optional(),
  note: z.string().optional(),
});
export const AnswerRejected = event('answer_rejected', 'A signal with an invalid answer changed nothing.', {
  await_id: z.string().optional(),
  reason: z.string(),
});

// goals
export const GoalDeclared = event('goal_declared', 'The turn has a goal.', {
  goal_id: z.string(),
  goal_type: z.string(),
  goal_data: z.record(z.string(), z.unknown()),
});
export const GoalAchieved = event('goal_achieved', 'A goal was reached.', { goal_id: z.string() });
export const GoalFailed = event('goal_failed', 'A goal was given up.', { goal_id: z.string(), reason: z.string() });
export const Reprompted = event('reprompted', 'The runtime asks the model to go on, in the user’s place.', {
  content: z.string(),
  reason: z.string(),
});

// artefacts
export const FileGenerated = event('file_generated', 'A file was made.', {
  file_id: z.string(),
  filename: z.string(),
  mime_type: z.string(),
  byte_size: z.number().int(),
  url: z.string().optional(),
});

export const DurableEvent = z.discriminatedUnion('type', [
  RunStarted,
  RunPhaseChanged,
  AgentRunStarted,
  ChildAwaitChanged,
  StepStarted,
  StepCompleted,
  UsageRecorded,
  ThinkingEnd,
  TextEnd,
  SummaryFinal,
  AttemptRetracted,
  ModelFallback,
  ContextCompacted,
  ToolRequested,
  ToolScheduled,
  ToolProgress,
  ToolRetry,
  ToolResult,
  NoticePosted,
  PolicyDecided,
  BudgetExceeded,
  AwaitClarification,
  AwaitExternalTools,
  AwaitApproval,
  AwaitResolved,
  AnswerRejected,
  GoalDeclared,
  GoalAchieved,
  GoalFailed,
  Reprompted,
  FileGenerated,
  RunCompleted,
]);
export type DurableEvent = z.infer<typeof DurableEvent>;
export type DurableEventType = DurableEvent['type'];
export type EventOf<T extends DurableEventType> = Extract<DurableEvent, { type: T }>;

type EnvelopeField =
  | 'seq'
  | 'event_id'
  | 'at'
  | 'run_id'
  | 'agent_id'
  | 'root_run_id'
  | 'parent_run_id'
  | 'parent_tool_call_id'
  | 'thread_id';
type Distribute<E> = E extends DurableEvent ? Omit<E, EnvelopeField> : never;
/** An event before the log gave it its number, its time and its provenance. */
export type EventDraft = Distribute<DurableEvent>;
