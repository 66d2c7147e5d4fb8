/** An agent as a tool of another: calling it starts a child run, and its answer is the result. */
import type { z } from 'zod';
import type { Agent } from './define-agent.js';
import type { FinalizerInput, RunContext, Tool, ToolOptions, ToolReturn } from './define-tool.js';

export interface AgentToolOptions<Input extends z.ZodType> extends Pick<
  ToolOptions<Input>,
  'tool_id' | 'display_name' | 'input' | 'strict' | 'approval' | 'concurrency_key'
> {
  /** The agent's own description if absent. */
  description?: string;
  /** The child's input: a template with `{{name}}` for arguments, or a function of them. */
  prompt: string | ((input: z.output<Input>, context: RunContext) => string | Promise<string>);
  /** Makes the result out of the child's run; its answer if absent. */
  finalizer?: (
    context: Omit<FinalizerInput, 'input'> & { readonly input: z.output<Input> },
  ) => ToolReturn | Promise<ToolReturn>;
}

export function agentAsTool<Input extends z.ZodType>(agent: Agent, options: AgentToolOptions<Input>): Tool {
  const { prompt, finalizer, ...tool } = options;
  return {
    kind: 'tool',
    options: {
      ...tool,
      description: options.description ?? agent.options.description ?? '',
      run() {
        throw new Error(`${options.tool_id} is an agent: it runs as a child workflow, never as an activity`);
      },
    } as unknown as Tool['options'],
    child: {
      agent,
      prompt:
        typeof prompt === 'string'
          ? (input) => fill(prompt, input)
          : (prompt as (input: unknown, context: RunContext) => string),
      ...(finalizer === undefined ? {} : { finalizer: finalizer as (context: FinalizerInput) => ToolReturn }),
    },
  };
}

function fill(template: string, input: unknown): string {
  const values = (input ?? {}) as Record<string, unknown>;
  return template.replaceAll(/\{\{\s*([A-Za-z0-9_]+)\s*\}\}/g, (_match, name: string) => {
    const value = values[name];
    return typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value);
  });
}
