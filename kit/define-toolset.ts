/**
 * A toolset: tools that nobody wrote down here, but that are found where they are, when an agent is resolved. What was
 * found is pinned in the run; a call reaches its toolset by the first two segments of its id, on any worker.
 */
import type { z } from 'zod';
import type { FoundSpec } from '../contract/activities.js';
import type { RunContext, ToolOptions } from './define-tool.js';

/** What a run is pinned to of a tool that was found; `source_name` is what the toolset itself calls it. */
export interface PinnedTool extends FoundSpec {
  tool_id: string;
}

/** A tool as it was found. */
export interface FoundTool extends PinnedTool {
  description: string;
  /** For people. */
  display_name?: string;
  /** A person must approve every call. */
  approval?: 'always';
}

/** A toolset on one worker. */
export interface OpenToolset {
  discover(signal: AbortSignal, context: RunContext): Promise<FoundTool[]>;
  /** Checks the arguments and makes the call: of a tool as it was pinned, whatever the toolset has by now. */
  bind(tool: PinnedTool): Pick<ToolOptions<z.ZodType>, 'input' | 'run'>;
  /** Of the worker: nothing of it may be left. */
  close(): Promise<void>;
}

export interface ToolsetOptions {
  /** `service.toolset`: what the ids of all its tools begin with. */
  toolset_id: string;
  /** A run goes on without its tools where they cannot be found; false by default, and the run fails. */
  optional?: boolean;
  /** Called once per worker, before it polls: nothing is connected yet. `report` writes to the worker's log. */
  open(report: (line: string) => void): OpenToolset;
}

export interface Toolset {
  readonly kind: 'toolset';
  readonly options: ToolsetOptions;
}

export function defineToolset(options: ToolsetOptions): Toolset {
  return { kind: 'toolset', options };
}

export function toolsetIdOf(toolId: string): string {
  return toolId.slice(0, toolId.lastIndexOf('.'));
}
