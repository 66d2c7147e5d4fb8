/** What a call takes along of a tool that a toolset found: it was pinned here, and no worker has it written down. */
import type { FoundSpec } from '../contract/activities.js';
import type { ToolSpec } from '../contract/tools.js';

export function foundSpec(tool: ToolSpec | undefined): { found?: FoundSpec } {
  if (tool?.source_name === undefined) return {};
  const { source_name, parameters, idempotent, timeout_ms } = tool;
  return { found: { source_name, parameters, idempotent, timeout_ms } };
}
