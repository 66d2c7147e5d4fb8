import type { ToolDefinition } from '../contract/completion.js';
import { PerdureError } from '../contract/errors.js';
import type { ModelRequest } from '../contract/model-provider.js';

type Choice = 'auto' | 'required' | 'none' | { tool: string };

/** Undefined: there is nothing to choose, and the vendors refuse a choice without tools. */
export function readToolChoice({ tool_choice, tools }: ModelRequest, provider: string): Choice | undefined {
  if (tool_choice === 'auto') return tools.length > 0 ? 'auto' : undefined;
  if (tool_choice === 'none') return tools.length > 0 ? 'none' : undefined;
  if (tool_choice === 'required' && tools.length > 0) return 'required';
  if (tools.some((tool) => tool.name === tool_choice)) return { tool: tool_choice };
  const have = tools.length > 0 ? tools.map((tool) => tool.name).join(', ') : 'none';
  const what = `tool_choice ${JSON.stringify(tool_choice)} cannot be sent to ${provider}: the tools of the request are ${have}`;
  throw new PerdureError('model_bad_request', what, { provider });
}

/** A tool without input: the vendors want an object all the same. */
export function inputSchema({ parameters }: ToolDefinition): ToolDefinition['parameters'] {
  return Object.keys(parameters).length === 0 ? { type: 'object', properties: {} } : parameters;
}
