/** The application's configuration: what `perdure.config.ts` exports as its default. */
import type { z } from 'zod';
import type { Price } from '../contract/agent-spec.js';
import type { KeySource } from '../contract/encryption-keys.js';
import type { ModelProvider } from '../contract/model-provider.js';
import type { StreamProfileInput } from '../contract/profiles.js';
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
  /**
   * How long a vendor that cannot be reached, or takes no more requests (HTTP 429 and 503), is asked again before that
   * counts as a failed attempt; 2 minutes by default, 0 not at all. A profile with a `fallback` does not wait.
   */
  model_retry_for?: number | string;
  /** A worker that is silent for so long is taken for dead; 10 s by default. */
  heartbeat_timeout?: number | string;
  /** How long canceled work may take to stop; 5 s by default. */
  cancel_grace?: number | string;
  /** Continue as new at this many history events; by default when Temporal suggests it. */
  continue_as_new_after_events?: number;
  /** A run that waits for people for so long continues as new, and goes on with new code; 10 minutes by default. */
  long_pause?: number | string;
  /**
   * Redis 7, which carries live text and cancels between processes: `redis://user:password@host:6379`. The command's
   * `--redis-url` and `PERDURE_REDIS_URL` win over it.
   */
  redis_url?: string;
  /**
   * `temporal`: live text also goes as batched signals into the run, where readers in other processes find it by polling.
   * It costs history. By default it goes by Redis, or stays in the worker's process (`memory`).
   */
  live?: 'memory' | 'temporal';
  /** Worker's memory of conversations, in runs and in threads; 0 switches it off, and each model call reads histories. */
  context_cache_runs?: number;
  /**
   * Runs and threads that a worker keeps in memory between their tasks; by default one for every 4 MB of Node's heap
   * above 512 MB, from 50 to 1,000.
   */
  cached_workflows?: number;
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
  /** What one thread may hold, messages that wait included (a quarter of it at most); 32 MiB by default, and at most. */
  max_bytes?: number;
  /** How many messages may wait for their turn in one thread; 2,000 by default. Who sends one more is told to wait. */
  queued_messages?: number;
}

export interface EncryptionOptions {
  /**
   * The first key encrypts, all decrypt: a list, or a function that gives one, as from a KMS. `PERDURE_ENCRYPTION_KEYS`
   * wins over it.
   */
  keys: KeySource;
}

export interface ConfigOptions {
  agents: Agent[];
  models: Record<string, ModelProfile>;
  runtime?: RuntimeOptions;
  /** By the type's name, in [a-z0-9_]. */
  goals?: Record<string, GoalType>;
  threads?: ThreadOptions;
  /** Payloads, large ones and artefacts are encrypted; plain if absent. */
  encryption?: EncryptionOptions;
  /** Stream profiles of one's own, beside those that ship: credentials, requests and clients name them. */
  profiles?: Record<string, StreamProfileInput>;
}

export interface Config {
  readonly kind: 'config';
  readonly options: ConfigOptions;
}

export function defineConfig(options: ConfigOptions): Config {
  return { kind: 'config', options };
}
