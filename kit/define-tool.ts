/** A tool: what an application's author writes, and what the runtime needs to know of it. */
import type { z } from 'zod';
import type { ToolContent } from '../contract/messages.js';
import type { Principal } from '../contract/principal.js';
import type { RunHandle, RunOutput } from '../contract/run.js';
import type { Artefacts } from '../contract/artefacts.js';
import type { Otherwise, StateBounds, StateCell, StateEntry } from '../contract/tool-state.js';
import type { Agent } from './define-agent.js';

/** What every function of a configuration is told: whose run it works in. */
export interface RunContext {
  readonly run: RunHandle;
  /** For whom the run works: decide by it what may be seen and done. */
  readonly principal: Principal;
  /** As the request brought it. */
  readonly metadata: Readonly<Record<string, unknown>>;
}

export interface ToolContext extends RunContext {
  readonly tool_call_id: string;
  /** The same for every attempt at this call: hand it to services that dedupe. */
  readonly idempotency_key: string;
  /** From 1. */
  readonly attempt: number;
  /** Aborts when the run is canceled, its time is up or the tool's timeout has passed: pass it to fetch and children. */
  readonly signal: AbortSignal;
  /** Shown to readers at once, and kept in the log when the call ends. */
  progress(message: string, fraction?: number): void;
  /** Shown to readers only: a piece of output as it is made. */
  output(text: string): void;
  /** A text for the user, beside the result, which is for the model. */
  notice(text: string): void;
  /** Keeps a file in the artefact store; readers are told of it when the call ends. */
  file(file: { filename: string; mime_type: string; content: string | Uint8Array }): Promise<{ file_id: string }>;
  /** What the tool remembers between calls, across crashes. */
  readonly state: ToolState;
  /** Of the run's own tree, or of its thread. */
  readonly artefacts: Artefacts;
}

/**
 * The durable state of tools. It is read as it was when the call was made; changes are made when the call has succeeded,
 * all or none, one call after another. A change that cannot be made gives the call the result that `otherwise` says.
 */
export interface ToolState {
  /** Only of a cell that the tool lists in `reads`. */
  entries(cell: StateCell): readonly StateEntry[];
  /** The value of a key; undefined if there is none. */
  value(cell: StateCell, key: string): unknown;
  set(cell: StateCell, key: string, value: unknown): void;
  append(cell: StateCell, value: unknown, limit?: { bounds: StateBounds; otherwise: Otherwise }): void;
  /** Counts a key up, if it is below the limit by then; `always`: also where the call fails. */
  increment(cell: StateCell, key: string, limit: { below: number; otherwise: Otherwise; always?: boolean }): void;
  /** Changes the entry at an index, if it is there. */
  replace(cell: StateCell, index: number, value: unknown, limit: { bounds?: StateBounds; otherwise: Otherwise }): void;
  clear(cell: StateCell): void;
}

/** Text, parts, or any JSON value, which the model reads as JSON. */
export type ToolReturn = ToolContent | number | boolean | null | object | undefined;

export interface ToolOptions<Input extends z.ZodType, Output extends z.ZodType = z.ZodType> {
  /** Canonical: `service.toolset.tool`. */
  tool_id: string;
  /** What the model reads to decide whether to call it. */
  description: string;
  /** For people: what a page shows in the place of the id. */
  display_name?: string;
  input: Input;
  /** Checked before the model sees it; what does not match is a `malformed_result`. */
  output?: Output;
  /**
   * The vendor is asked to keep to the schema, where it can and the schema fits its strict mode (true by default).
   * Arguments are checked in any case.
   */
  strict?: boolean;
  /** Milliseconds or like "30s"; 60 s by default. */
  timeout?: number | string;
  /**
   * Safe to run again after an attempt whose end nobody saw (false by default). A tool that is not gets one
   * attempt, and the result `outcome_unknown` when its worker is lost.
   */
  idempotent?: boolean;
  /** Attempts at an idempotent tool that throws or times out; 3 by default. */
  max_attempts?: number;
  /** Whether a person must approve a call before it is made; `never` by default. */
  approval?: 'never' | 'always' | ((input: z.output<Input>, context: RunContext) => boolean | Promise<boolean>);
  /** The cells of the durable state that a call needs to see. */
  reads?: readonly StateCell[];
  /** Calls of a run with the same key do not overlap. */
  concurrency_key?: (input: z.output<Input>, context: RunContext) => string | undefined;
  /** Called when a worker starts: one that cannot run the tool throws, and the worker does not start. */
  prepare?(): Promise<void>;
  run(input: z.output<Input>, context: ToolContext): ToolReturn | Promise<ToolReturn>;
}

export interface Tool {
  readonly kind: 'tool';
  readonly options: ToolOptions<z.ZodType>;
  /** Set by `agentAsTool`: the call is a child run. */
  readonly child?: ChildRunOptions;
}

export interface ChildRunOptions {
  readonly agent: Agent;
  readonly prompt: (input: unknown, context: RunContext) => string | Promise<string>;
  readonly finalizer?: (context: FinalizerInput) => ToolReturn | Promise<ToolReturn>;
}

/** What a finalizer gets of the child's run. It aggregates; it streams nothing. */
export interface FinalizerInput extends Omit<RunContext, 'run'> {
  readonly input: unknown;
  readonly parent: RunHandle;
  readonly child: RunOutput & { status: 'success' };
  readonly artefacts: Artefacts;
}

export function defineTool<Input extends z.ZodType, Output extends z.ZodType>(
  options: ToolOptions<Input, Output>,
): Tool {
  return { kind: 'tool', options: options as unknown as ToolOptions<z.ZodType> };
}
