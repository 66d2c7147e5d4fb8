/**
 * The interface of the activities: workflows proxy it, `activities/` implements it, neither imports the other.
 * Shapes in history: fields may be added, never changed in meaning. Types only.
 */
import type { AgentSpec } from './agent-spec.js';
import type { ChatInvokeCompletion } from './completion.js';
import type { BaseMessage, ToolContent, ToolOutputRef } from './messages.js';
import type { RunHandle, RunRequest } from './run.js';
import type { ToolFailure } from './tools.js';

export interface ResolveRunInput {
  run_id: string;
  /** As it came, not validated. */
  request: unknown;
}

export interface ResolvedRun {
  request: RunRequest;
  spec: AgentSpec;
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
  /** Of the pinned spec, which the worker has or reads by query. */
  spec_digest: string;
  /** Said to the model after the conversation, this once: why it must finish. */
  directive?: string;
  signal_live: boolean;
}

export interface CallModelResult {
  /** Messages carry `meta: { block_id }` where their text was streamed as a block. */
  completion: ChatInvokeCompletion;
  /** The attempt that won, from 1. */
  attempt: number;
  /** As the worker measured it. */
  duration_ms: number;
  /** Canceled in the middle: the completion holds what had been said by then. */
  interrupted: boolean;
}

export interface CallToolInput {
  run: RunHandle;
  step_id: string;
  tool_call_id: string;
  tool_id: string;
  arguments: string;
  signal_live: boolean;
}

export interface ToolProgressNote {
  live_id: string;
  message: string;
  fraction?: number;
}

export interface CallToolResult {
  content: ToolContent;
  failure?: ToolFailure;
  output_ref?: ToolOutputRef;
  trimmed?: boolean;
  duration_ms: number;
  attempts: number;
  progress: ToolProgressNote[];
  /** Why each earlier attempt was given up, in order. */
  retries: string[];
}

// A type, not an interface: proxyActivities wants an index signature.
export type RunActivities = {
  resolveRun(input: ResolveRunInput): Promise<ResolvedRun>;
  callModel(input: CallModelInput): Promise<CallModelResult>;
  callTool(input: CallToolInput): Promise<CallToolResult>;
  /** Asks the server to cancel the run, so that it can end as Canceled there. */
  confirmCancel(input: { run_id: string; workflow_run_id: string }): Promise<void>;
};
