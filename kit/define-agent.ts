/** An agent: instructions, tools, limits and the model profile it thinks with. */
import type { z } from 'zod';
import type { PolicySpec } from '../contract/agent-spec.js';
import type { ChatInvokeCompletion, ToolChoice } from '../contract/completion.js';
import type { RunLimits } from '../contract/limits.js';
import type { BaseMessage } from '../contract/messages.js';
import type { RunHandle } from '../contract/run.js';
import type { Tool } from './define-tool.js';
import type { Toolset } from './define-toolset.js';

export interface AgentOptions {
  /** `service.agent` */
  agent_id: string;
  description?: string;
  instructions: string;
  /** A key of the configuration's `models`; its default one if absent. */
  model?: string;
  tools?: (Tool | Toolset)[];
  limits?: z.input<typeof RunLimits>;
  /** A last model call without tools writes the answer. */
  synthesis?: boolean;
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
  | { tool_calls: { tool: string; args: unknown }[]; text?: string }
  | { answer: string }
  | { ask: string; choices?: string[] };

export interface PlannerContext {
  readonly run: RunHandle;
  readonly step_number: number;
  /** The conversation so far, without the instructions. */
  readonly messages: readonly BaseMessage[];
  readonly tools: readonly string[];
  readonly signal: AbortSignal;
  readonly model: {
    /** A whole answer: only the runtime reads the vendor's stream. */
    invoke(request?: {
      messages?: readonly BaseMessage[];
      instructions?: string;
      tool_choice?: ToolChoice;
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
