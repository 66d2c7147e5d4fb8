/** What a model vendor's adapter must be. The runtime alone reads its stream. Types only. */
import type { ChatInvokeUsage, ToolChoice, ToolDefinition } from './completion.js';
import type { BaseMessage } from './messages.js';

declare global {
  // The contract compiles without Node's types; in rooms that have them this merges with the real interface.
  interface AbortSignal {}
}

export interface ModelRequest {
  model: string;
  /** Begins with the system message; media parts hold data, never artefact references. */
  messages: readonly BaseMessage[];
  /** Names are canonical tool ids; the adapter maps them to the vendor's alphabet and back. */
  tools: readonly ToolDefinition[];
  tool_choice: ToolChoice;
  parameters: Readonly<Record<string, unknown>>;
  /** Of the profile: for vendors that demand a largest answer where the parameters name none. */
  max_output_tokens?: number;
  /** Which attempt at this call it is, from 1. */
  attempt: number;
  /** Ids for the vendor's log and for scripts: never shown to the model. */
  run_id: string;
  step_id: string;
}

/**
 * One piece of a vendor's stream, normalised. Text, reasoning and refusal pieces are appended to the open stretch
 * of their kind; a piece of another kind closes it. `finish` comes last, exactly once.
 */
export type ModelStreamPart =
  /** `provider_meta` is the vendor's signature of the text; one that comes with an empty delta is that of the last text. */
  | { type: 'text'; delta: string; provider_meta?: unknown }
  | { type: 'reasoning'; delta: string }
  | { type: 'refusal'; delta: string }
  /** The vendor's signature of the reasoning that just ended (or of the whole message). */
  | { type: 'reasoning_meta'; provider_meta: unknown }
  /** `index` tells calls of one message apart; the first piece of a call has its name. */
  | { type: 'tool_call'; index: number; name?: string; arguments_delta?: string; provider_meta?: unknown }
  | { type: 'finish'; stop_reason: string; usage: ChatInvokeUsage | null; provider_meta?: unknown };

export interface ModelProvider {
  /** `openai`, `scripted`, …: in events and errors. */
  readonly name: string;
  /** Throws a PerdureError with a `model_…` code; ends quietly when the signal aborts. */
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelStreamPart>;
}
