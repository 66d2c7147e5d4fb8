/** A tool: what an application's author writes, and what the runtime needs to know of it. */
import type { z } from 'zod';
import type { ToolContent } from '../contract/messages.js';
import type { RunHandle, RunOutput } from '../contract/run.js';
import type { ArtefactStore } from '../contract/artefacts.js';
import type { Agent } from './define-agent.js';

export interface ToolContext {
  readonly run: RunHandle;
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
  readonly artefacts: ArtefactStore;
}

/** Text, parts, or any JSON value, which the model reads as JSON. */
export type ToolReturn = ToolContent | number | boolean | null | object | undefined;

export interface ToolOptions<Input extends z.ZodType, Output extends z.ZodType = z.ZodType> {
  /** Canonical: `service.toolset.tool`. */
  tool_id: string;
  /** What the model reads to decide whether to call it. */
  description: string;
  input: Input;
  /** Checked before the model sees it; what does not match is a `malformed_result`. */
  output?: Output;
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
  approval?: 'never' | 'always' | ((input: z.output<Input>) => boolean | Promise<boolean>);
  /** Calls of a run with the same key do not overlap. */
  concurrency_key?: (input: z.output<Input>) => string | undefined;
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
  readonly prompt: (input: unknown) => string | Promise<string>;
  readonly finalizer?: (context: FinalizerInput) => ToolReturn | Promise<ToolReturn>;
}

/** What a finalizer gets of the child's run. It aggregates; it streams nothing. */
export interface FinalizerInput {
  readonly input: unknown;
  readonly parent: RunHandle;
  readonly child: RunOutput & { status: 'success' };
  readonly artefacts: ArtefactStore;
}

export function defineTool<Input extends z.ZodType, Output extends z.ZodType>(
  options: ToolOptions<Input, Output>,
): Tool {
  return { kind: 'tool', options: options as unknown as ToolOptions<z.ZodType> };
}
