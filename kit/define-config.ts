/** The application's configuration: what `perdure.config.ts` exports as its default. */
import type { z } from 'zod';
import type { Price } from '../contract/agent-spec.js';
import type { ModelProvider } from '../contract/model-provider.js';
import type { Agent } from './define-agent.js';

export interface ModelProfile {
  provider: ModelProvider;
  model: string;
  label?: string;
  description?: string;
  /** Sent to the vendor: temperature, max_output_tokens, reasoning_effort, … */
  parameters?: Record<string, unknown>;
  default?: boolean;
  /** US dollars per million tokens: for `max_cost_usd` and the cost in a run's usage. */
  price?: Price;
  /**
   * The largest answer, for reservations; 4,096 by default. Sent to the vendor only where `parameters` has it too, but
   * for anthropic, which demands one.
   */
  max_output_tokens?: number;
  /**
   * The profiles that are tried, in this order, when all attempts at this one have failed because the vendor is down.
   * Theirs follow after them.
   */
  fallback?: string[];
  /** The model's window, input and answer together: a conversation that would exceed it is compacted before the call. */
  context_tokens?: number;
}

/** How patient the runtime is. Durations: milliseconds or like "30s". */
export interface RuntimeOptions {
  /** One model call; 10 minutes by default. */
  model_timeout?: number | string;
  /** Attempts at a model call; 4 by default. */
  model_max_attempts?: number;
  /** A worker that is silent for so long is taken for dead; 10 s by default. */
  heartbeat_timeout?: number | string;
  /** How long canceled work may take to stop; 5 s by default. */
  cancel_grace?: number | string;
  /** Continue as new at this many history events; by default when Temporal suggests it. */
  continue_as_new_after_events?: number;
  /** A run that waits for people for so long continues as new, and goes on with new code; 10 minutes by default. */
  long_pause?: number | string;
  /**
   * `memory`: readers are in the worker's process (or poll the log). `temporal`: deltas also go as batched signals
   * into the run, so that readers anywhere see them live.
   */
  live?: 'memory' | 'temporal';
  /** Worker's memory of conversations, in runs; 0 switches it off, and each model call reads its run by query. */
  context_cache_runs?: number;
  /** How often a run that would end without its goals is told to go on; 2 by default. */
  goal_reprompts?: number;
}

/** A kind of goal that a message may declare. */
export interface GoalType {
  /** For the model: what it means to reach it. */
  description: string;
  /** What the declaration says about it (`goal_data`). */
  data: z.ZodObject;
  /** What the model must give to say that it is reached; nothing if absent. */
  result?: z.ZodObject;
}

export interface ThreadOptions {
  /** By default the first message; or a model of that profile writes it after the first answer. */
  title?: 'first_message' | { profile: string };
}

export interface ConfigOptions {
  agents: Agent[];
  models: Record<string, ModelProfile>;
  runtime?: RuntimeOptions;
  /** By the type's name, in [a-z0-9_]. */
  goals?: Record<string, GoalType>;
  threads?: ThreadOptions;
}

export interface Config {
  readonly kind: 'config';
  readonly options: ConfigOptions;
}

export function defineConfig(options: ConfigOptions): Config {
  return { kind: 'config', options };
}
