/**
 * The interface of the activities: workflows proxy it, `activities/` implements it, neither imports the other.
 * Shapes in history: fields may be added, never changed in meaning. Types only.
 */
import type { AgentSpec } from './agent-spec.js';
import type { Compacted } from './compaction.js';
import type { ChatInvokeCompletion, ChatInvokeUsage } from './completion.js';
import type { ModelFallback } from './model-chain.js';
import type { BaseMessage, ToolContent, ToolOutputRef } from './messages.js';
import type { SearchAttributeName } from './names.js';
import type { Caller } from './principal.js';
import type { RunHandle, RunLink, RunOutcome, RunOutput, RunRequest, StartedChild } from './run.js';
import type { AgentMessage } from './thread-records.js';
import type { ThreadRequest } from './thread-request.js';
import type { StateCells, StateChange } from './tool-state.js';
import type { ToolFailure, ToolSpec } from './tools.js';
import type { ConcludedGoal } from './turn-messages.js';

export interface ResolveRunInput {
  run_id: string;
  /** As it came, not validated. */
  request: unknown;
  /** The workflow was started by another one; only then may the request name a parent. */
  is_child?: boolean;
  /** See `workflows/patches.ts`; given back as it is. */
  revision?: number;
}

export interface ResolvedRun {
  request: RunRequest;
  spec: AgentSpec;
  revision?: number;
}

/** `planning` may call tools; `synthesis` writes the answer without any. */
export type ModelPass = 'planning' | 'synthesis';

export interface CallModelInput {
  run: RunHandle;
  step_id: string;
  pass: ModelPass;
  /** What came before `new_messages`: how many messages, and their digest. */
  prefix: { length: number; digest: string };
  new_messages: BaseMessage[];
  /** Of a turn: how much of the prefix is the thread's. */
  thread?: { thread_id: string; length: number; digest: string };
  /** The prefix begins with a summary of these. */
  compacted?: Compacted;
  /** Of the pinned spec, which the worker has or reads from the run's history. */
  spec_digest: string;
  /** Said to the model after the conversation, this once: why it must finish, or go on. */
  directive?: string;
  /** The answer of the step before was cut: this call goes on with it, and calls no tools. */
  continues?: true;
  signal_live: boolean;
  /** Of a planner under limits: what all its model calls together may use. */
  allowance?: Allowance;
  /** How many attempts the step has had before this call. */
  attempts_before?: number;
  /** For a planner. */
  caller?: Caller;
  /** For a planner: the runs that this one has started, where there are any. */
  children?: StartedChild[];
}

/** Enough to know a run's conversation. */
export type ContextInput = Pick<
  CallModelInput,
  'run' | 'step_id' | 'prefix' | 'new_messages' | 'thread' | 'compacted' | 'spec_digest'
>;

export interface CompactInput extends ContextInput {
  /** The vendor refused it as too long, whatever our estimate is. */
  refused?: boolean;
}

export interface CompactResult {
  attempt: number;
  duration_ms: number;
  model_calls: number;
  usage: ChatInvokeUsage | null;
  profile?: string;
  fallbacks?: ModelFallback[];
  /** Absent: there was nothing to compact. */
  compacted?: Compacted & {
    summary: string;
    /** How many messages it took the place of, and their digest. */
    messages: number;
    digest: string;
    /** Of the conversation as the model reads it now. */
    prefix: { length: number; digest: string };
    characters: { before: number; after: number };
  };
}

export interface Allowance {
  tokens?: number;
  cost_usd?: number;
}

export interface CallModelResult {
  /**
   * Messages carry `meta: { block }`, the number of the block as which their text was streamed, and `interrupted` where
   * it broke off before its end.
   */
  completion: ChatInvokeCompletion;
  /** The attempt that won, from 1. */
  attempt: number;
  /** As the worker measured it. */
  duration_ms: number;
  /** Canceled in the middle: the completion holds what had been said by then. */
  interrupted: boolean;
  /** Of the winning attempt; absent: 1. A planner may make none, or several. */
  model_calls?: number;
  /** Of a planner that has said more than that; absent: all that was said. */
  answer?: string;
  /** The profile that answered, where it is not the agent's own, and how it came to that. */
  profile?: string;
  fallbacks?: ModelFallback[];
}

export interface CallToolInput {
  run: RunHandle;
  step_id: string;
  tool_call_id: string;
  tool_id: string;
  arguments: string;
  /** The arguments that a person has approved, as they were shown. */
  approved?: string;
  signal_live: boolean;
  found?: FoundSpec;
  /** The cells that the tool reads. */
  state?: { run: StateCells; shared: StateCells };
  /** For whom; absent: for nobody in particular. */
  caller?: Caller;
}

export interface GeneratedFile {
  file_id: string;
  filename: string;
  mime_type: string;
  byte_size: number;
}

/** Of a tool that a toolset found: what the call needs of the pinned spec, since no worker has it written down. */
export type FoundSpec = Pick<ToolSpec, 'parameters' | 'idempotent' | 'timeout_ms'> & { source_name: string };

export interface ToolProgressNote {
  live_id: string;
  message: string;
  fraction?: number;
}

export interface CallToolResult {
  content: ToolContent;
  /** What it is the JSON of, where the tool gave no text. */
  value?: unknown;
  failure?: ToolFailure;
  /** What the tool's code threw, with the stack: of a call that failed by it. */
  debug_message?: string;
  output_ref?: ToolOutputRef;
  trimmed?: boolean;
  duration_ms: number;
  attempts: number;
  progress: ToolProgressNote[];
  /** Why each earlier attempt was given up, in order. */
  retries: string[];
  /** Of the child run that the call was. */
  link?: RunLink;
  /** Texts for the user, in order. */
  notices?: string[];
  files?: GeneratedFile[];
  /** To be made when the call ends; of one that failed, those that are made always. */
  changes?: StateChange[];
}

/** What the functions of a configuration say about the calls of a batch. */
export interface AdmitInput {
  run: RunHandle;
  caller?: Caller;
  calls: { tool_call_id: string; tool_id: string; arguments: string; found?: FoundSpec }[];
}

export interface Admission {
  tool_call_id: string;
  /** The arguments do not fit, or a rule broke: the call is answered with this instead. */
  failure?: ToolFailure;
  /** What a rule threw, with the stack. */
  debug_message?: string;
  approval?: boolean;
  /** As JSON, what the tool would be given: with defaults, without extra keys. Absent where the worker is of 0.7. */
  arguments?: string;
  /** Of a child run. */
  prompt?: string;
  /** Calls with the same key do not overlap. */
  concurrency_key?: string;
}

export interface FinalizeInput {
  run: RunHandle;
  caller?: Caller;
  tool_id: string;
  tool_call_id: string;
  arguments: string;
  output: RunOutput;
}

export interface FinalizeResult {
  content: ToolContent;
  value?: unknown;
  failure?: ToolFailure;
  debug_message?: string;
  output_ref?: ToolOutputRef;
  trimmed?: boolean;
}

/** A thread as it begins: its request, validated, and what of the configuration it needs. */
export interface OpenThreadInput {
  thread_id: string;
  /** As it came, not validated. */
  request: unknown;
  /** See `workflows/patches.ts`; given back as it is. */
  revision?: number;
}

export interface OpenedThread {
  request: ThreadRequest;
  runtime: { continue_as_new_after_events?: number; max_bytes?: number; queued_messages?: number };
  search_attributes: SearchAttributeName[];
  /** A model of this profile gives the thread its title; absent: the title is the first message. */
  title_profile?: string;
  /** Of the models that answer, where the request names none: that of the agent. */
  model_profile?: string;
  revision?: number;
}

export interface TitleInput {
  thread_id: string;
  profile: string;
  /** The beginning of each. */
  question: string;
  answer: string;
}

export interface CollectTurnInput {
  thread_id: string;
  run_id: string;
  /** How the turn ended where its run could not say so itself, and when. */
  lost: RunOutcome;
  at: string;
}

/** What a turn leaves in its thread. */
export interface CollectedTurn {
  messages: AgentMessage[];
  goals: ({ goal_id: string } & ConcludedGoal)[];
  /** The run's last summary: of so many messages of the conversation that it was given, and so many of its own above. */
  compacted?: { summary: string; thread_messages: number; turn_messages: number };
}

// A type, not an interface: proxyActivities wants an index signature.
export type RunActivities = {
  resolveRun(input: ResolveRunInput): Promise<ResolvedRun>;
  callModel(input: CallModelInput): Promise<CallModelResult>;
  /** Replaces the oldest messages of the conversation, for the model, by a summary. */
  compactContext(input: CompactInput): Promise<CompactResult>;
  callTool(input: CallToolInput): Promise<CallToolResult>;
  admitCalls(input: AdmitInput): Promise<Admission[]>;
  finalizeChild(input: FinalizeInput): Promise<FinalizeResult>;
  /** An answer of a person or of the caller that may be too large for the log; `is_json` where it was no text. */
  keepOutput(input: { run: RunHandle; text: string; is_json?: true }): Promise<FinalizeResult>;
  /** The same as callModel for agents with a planner of their own. */
  callPlanner(input: CallModelInput): Promise<CallModelResult>;
  /** Asks the server to cancel the run, so that it can end as Canceled there. */
  confirmCancel(input: { run_id: string; workflow_run_id: string }): Promise<void>;
};

/** What a search for runs that are missing in the archive did. */
export interface SweepResult {
  looked_at: number;
  archived: number;
  /** They could not be read, and are tried again by a later sweep. */
  put_off: number;
}

export type ArchiveActivities = {
  /** Null: another one is at it. */
  sweepArchive(): Promise<SweepResult | null>;
};

export type ThreadActivities = {
  openThread(input: OpenThreadInput): Promise<OpenedThread>;
  /** Reads the run's log by query, so that its closed history may go with the retention. */
  collectTurn(input: CollectTurnInput): Promise<CollectedTurn>;
  titleThread(input: TitleInput): Promise<string>;
};
