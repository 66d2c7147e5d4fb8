/**
 * The toolsets of one worker: opened before it polls, closed when it has stopped.
 *
 * S1  What discovery finds is checked before it is pinned: canonical ids of that toolset, none twice, none that looks
 *     like a caller's.
 * S2  A call needs no discovery: it brings along what its run is pinned to.
 */
import type { FoundSpec } from '../contract/activities.js';
import type { AgentSpec } from '../contract/agent-spec.js';
import { isPerdureError, PerdureError } from '../contract/errors.js';
import { hasClientName, TOOL_ID_PATTERN } from '../contract/ids.js';
import type { ToolSpec } from '../contract/tools.js';
import type { RunContext } from '../kit/define-tool.js';
import { toolsetIdOf } from '../kit/define-toolset.js';
import type { FoundTool, OpenToolset, Toolset } from '../kit/define-toolset.js';
import type { RegisteredTool, Registry } from '../kit/registry.js';
import { isToolError } from '../kit/tool-error.js';
import { failedUnexpectedly, isUnexpected } from './thrown.js';
import type { ReportThrown } from './thrown.js';

export interface Discovery {
  tools: ToolSpec[];
  missing: NonNullable<AgentSpec['missing_toolsets']>;
}

export interface Toolsets {
  discover(toolsets: readonly Toolset[], signal: AbortSignal, context: RunContext): Promise<Discovery>;
  find(toolId: string, found: FoundSpec | undefined): RegisteredTool | undefined;
  close(): Promise<void>;
}

/** Attempts at a tool that is safe to repeat, as for a tool that is written down. */
const MAX_ATTEMPTS = 3;

export function openToolsets(registry: Registry, report: (line: string) => void, threw: ReportThrown): Toolsets {
  const open = new Map<string, OpenToolset>();
  for (const [id, { options }] of registry.toolsets)
    open.set(
      id,
      options.open((line) => report(`${id}: ${line}`)),
    );
  async function discoverOne({ options }: Toolset, signal: AbortSignal, context: RunContext) {
    const { toolset_id, optional = false } = options;
    try {
      const toolset = open.get(toolset_id);
      if (toolset === undefined)
        throw new PerdureError('toolset_unavailable', `toolset ${toolset_id}: it was not opened by this worker`);
      return { tools: specsOf(toolset_id, await toolset.discover(signal, context)) };
    } catch (error) {
      if (isUnexpected(error)) threw({ what: `toolset ${toolset_id}`, error });
      if (isPerdureError(error)) return { toolset_id, optional, error };
      // It is there, and has no room now: a run that is asked again in a moment has its tools.
      if (isToolError(error) && error.kind === 'rate_limited')
        return {
          toolset_id,
          optional: false,
          error: new PerdureError('rate_limited', error.message, { cause: error }),
        };
      const why = isToolError(error) ? error.message : failedUnexpectedly('looking for its tools', error);
      const explained = new PerdureError('toolset_unavailable', `toolset ${toolset_id}: ${why}`, { cause: error });
      return { toolset_id, optional, error: explained };
    }
  }
  return {
    async discover(toolsets, signal, context) {
      const discovery: Discovery = { tools: [], missing: [] };
      // All are waited for, so that none goes on behind a run that has failed for another.
      const outcomes = await Promise.all(toolsets.map((toolset) => discoverOne(toolset, signal, context)));
      for (const outcome of outcomes) {
        if ('tools' in outcome) discovery.tools.push(...outcome.tools);
        else if (!outcome.optional || signal.aborted) throw outcome.error;
        else {
          const { toolset_id, error } = outcome;
          report(`${toolset_id}: a run goes on without it: ${error.message}`);
          discovery.missing.push({ toolset_id, reason: error.message });
        }
      }
      return discovery;
    },
    find(tool_id, found) {
      const toolset = open.get(toolsetIdOf(tool_id));
      if (toolset === undefined || found === undefined) return undefined;
      const options = { tool_id, description: '', ...toolset.bind({ tool_id, ...found }) };
      const spec = { tool_id, description: '', strict: false, max_attempts: attempts(found), ...found };
      return { tool: { kind: 'tool', options }, spec };
    },
    async close() {
      await Promise.all([...open.values()].map((toolset) => toolset.close()));
    },
  };
}

function specsOf(toolsetId: string, found: readonly FoundTool[]): ToolSpec[] {
  const refuse = (what: string): never => {
    throw new PerdureError('toolset_invalid', `toolset ${toolsetId}: ${what}`);
  };
  return found.map((tool, index) => {
    if (!TOOL_ID_PATTERN.test(tool.tool_id) || toolsetIdOf(tool.tool_id) !== toolsetId) {
      refuse(`it gave "${tool.source_name}" the id "${tool.tool_id}", which is none of its own`);
    }
    if (hasClientName(tool.tool_id)) {
      const why = 'names that begin with client_ are those of tools that callers run';
      refuse(`it gave "${tool.source_name}" the id "${tool.tool_id}": ${why}`);
    }
    const other = found.slice(0, index).find(({ tool_id }) => tool_id === tool.tool_id);
    if (other !== undefined) {
      refuse(`its tools "${other.source_name}" and "${tool.source_name}" would both be ${tool.tool_id}`);
    }
    return { ...tool, strict: false, max_attempts: attempts(tool) };
  });
}

function attempts({ idempotent }: { idempotent: boolean }): number {
  return idempotent ? MAX_ATTEMPTS : 1;
}
