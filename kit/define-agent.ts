/** An agent: instructions, tools, limits and the model profile it thinks with. */
import type { z } from 'zod';
import type { PolicySpec } from '../contract/agent-spec.js';
import type { ChatInvokeCompletion, ToolChoice } from '../contract/completion.js';
import type { RunLimits } from '../contract/limits.js';
import type { BaseMessage, ToolMessage } from '../contract/messages.js';
import type { RunLink, StartedChild } from '../contract/run.js';
import type { ToolSpec } from '../contract/tools.js';
import type { RunContext, Tool } from './define-tool.js';
import type { Toolset } from './define-toolset.js';

export interface AgentOptions {
  /** `service.agent` */
  agent_id: string;
  description?: string;
  instructions: string;
  /** What it is called in the conversation: sent with its messages to vendors that know names. */
  name?: string;
  /**
   * `required`, or the id of a tool, makes the model begin with a call: it holds for the first model call of a run, since
   * it could never answer otherwise. `none` holds for all. `auto` by default.
   */
  tool_choice?: ToolChoice;
  /** A key of the configuration's `models`; its default one if absent. */
  model?: string;
  tools?: (Tool | Toolset)[];
  limits?: z.input<typeof RunLimits>;
  /** A last model call without tools writes the answer. */
  synthesis?: boolean;
  /**
   * What becomes of an answer that the vendor cuts at its limit of length. `keep` (by default): it is the answer, and
   * `stop_reason` says `max_tokens`. `continue`: the model is asked to go on, three times at most. `fail`: the run fails.
   */
  on_cut_answer?: 'keep' | 'continue' | 'fail';
  /** Which tools it may call, and which only with a person's approval. Its children can only narrow it. */
  policy?: z.input<typeof PolicySpec>;
  /** The agent may ask its user (`runtime.user.ask_clarification`). */
  clarifications?: boolean;
  /** How long a pause waits for its answer before the model is told that none came; for ever by default. */
  await_expires_in?: number | string;
  /** Decides what to do next, in the place of the model alone. */
  planner?: Planner;
}

/** What a planner decides: exactly one of these. */
export type PlannerDecision =
  | {
      /** `args` as a value, or as the JSON text that a model wrote; `provider_meta` of a call of the model's is kept. */
      tool_calls: { tool: string; args: unknown; provider_meta?: unknown }[];
      text?: string;
    }
  | { answer: string }
  | { ask: string; choices?: string[] }
  /** What the model answered: its calls, or its text, with all that its vendor wants to see again. */
  | { completion: ChatInvokeCompletion };

/** A tool that may be called. */
export interface PlannerTool extends Pick<ToolSpec, 'tool_id' | 'description' | 'parameters'> {
  /** What runs it: a worker, a child run, the caller, the user's answer; a `goal` is reached by calling it. */
  readonly kind: NonNullable<ToolSpec['kind']>;
  /** Of a tool of kind `agent`. */
  readonly agent_id?: string;
}

/** What became of a call. */
export interface PlannerToolResult extends Pick<ToolMessage, 'tool_call_id' | 'content' | 'output_ref' | 'trimmed'> {
  readonly tool: string;
  /** As they were written. */
  readonly arguments: string;
  readonly is_error: boolean;
  /** Of the run that the call was, if it was one. */
  readonly link?: RunLink;
}

export interface PlannerContext extends RunContext {
  readonly step_number: number;
  /** The conversation so far, without the instructions. */
  readonly messages: readonly BaseMessage[];
  readonly tools: readonly PlannerTool[];
  /** Of the calls that were decided last. */
  readonly results: readonly PlannerToolResult[];
  /** All runs that this one has started. */
  readonly children: readonly StartedChild[];
  readonly signal: AbortSignal;
  readonly model: {
    /**
     * A whole answer. Only the runtime reads the vendor's stream: what it says is shown to readers as it comes, and is
     * part of the conversation from then on, unless `stream` is false.
     */
    invoke(request?: {
      messages?: readonly BaseMessage[];
      instructions?: string;
      /** The ids of those of its tools that the model is offered; all if absent. */
      tools?: readonly string[];
      tool_choice?: ToolChoice;
      stream?: boolean;
    }): Promise<ChatInvokeCompletion>;
  };
}

export type Planner = (context: PlannerContext) => PlannerDecision | Promise<PlannerDecision>;

export interface Agent {
  readonly kind: 'agent';
  readonly options: AgentOptions;
}

export function defineAgent(options: AgentOptions): Agent {
  return { kind: 'agent', options };
}
