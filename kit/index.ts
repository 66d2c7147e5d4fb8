/** What an application's author calls. */
export { defineAgent } from './define-agent.js';
export { agentAsTool } from './agent-as-tool.js';
export type { AgentToolOptions } from './agent-as-tool.js';
export type {
  Agent,
  AgentOptions,
  Planner,
  PlannerContext,
  PlannerDecision,
  PlannerTool,
  PlannerToolResult,
} from './define-agent.js';
export { defineConfig } from './define-config.js';
export type { Config, ConfigOptions, GoalType, ModelProfile, RuntimeOptions } from './define-config.js';
export { defineTool } from './define-tool.js';
export type {
  FinalizerInput,
  RunContext,
  Tool,
  ToolContext,
  ToolOptions,
  ToolReturn,
  ToolState,
} from './define-tool.js';
export { defineToolset } from './define-toolset.js';
export type { FoundTool, OpenToolset, PinnedTool, Toolset, ToolsetOptions } from './define-toolset.js';
export { ToolError } from './tool-error.js';
export { withValue } from './with-value.js';
export type { ValuedResult } from './with-value.js';
