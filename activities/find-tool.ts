/** The tool behind an id: the application's, the runtime's own, or one that a toolset found and the call brings along. */
import type { FoundSpec } from '../contract/activities.js';
import { READ_OUTPUT_TOOL } from '../contract/names.js';
import type { RegisteredTool, Registry } from '../kit/registry.js';
import { achieveTool } from './pin-goals.js';
import { readOutputSpec, readOutputTool } from './read-output.js';
import type { Toolsets } from './toolsets.js';

export interface ToolSources {
  registry: Registry;
  toolsets: Toolsets;
}

export function findTool(
  { registry, toolsets }: ToolSources,
  toolId: string,
  found?: FoundSpec,
): RegisteredTool | undefined {
  if (toolId === READ_OUTPUT_TOOL) return { tool: readOutputTool, spec: readOutputSpec };
  return registry.tools.get(toolId) ?? achieveTool(registry, toolId) ?? toolsets.find(toolId, found);
}
