/** Evaluates what is a function in the configuration: approval rules, prompts of children, concurrency keys. */
import type { Admission, AdmitInput } from '../contract/activities.js';
import { toolFailure } from '../contract/tool-failure.js';
import type { RegisteredTool } from '../kit/registry.js';
import { findTool } from './find-tool.js';
import type { ToolSources } from './find-tool.js';
import { InvalidCall, parseArguments } from './parse-arguments.js';

export async function admitCalls(sources: ToolSources, { calls }: AdmitInput): Promise<Admission[]> {
  return Promise.all(
    calls.map(async ({ tool_call_id, tool_id, arguments: text, found }): Promise<Admission> => {
      const known = findTool(sources, tool_id, found);
      if (known === undefined) {
        const gone = `This worker has no tool ${tool_id}: it may have been removed since the run began.`;
        return { tool_call_id, failure: toolFailure('unavailable', gone) };
      }
      try {
        return { tool_call_id, ...(await evaluate(known, await parseArguments(known, text))) };
      } catch (error) {
        if (error instanceof InvalidCall)
          return { tool_call_id, failure: toolFailure(error.kind, error.message, error.issues) };
        // A rule that breaks must not let a call through.
        const message = error instanceof Error ? error.message : String(error);
        return { tool_call_id, failure: toolFailure('internal', `A rule of ${tool_id} failed: ${message}`) };
      }
    }),
  );
}

async function evaluate({ tool }: RegisteredTool, input: unknown): Promise<Omit<Admission, 'tool_call_id'>> {
  const { approval, concurrency_key } = tool.options;
  const key = concurrency_key?.(input);
  return {
    ...(typeof approval === 'function' ? { approval: await approval(input) } : {}),
    ...(tool.child === undefined ? {} : { prompt: promptText(await tool.child.prompt(input)) }),
    ...(key === undefined ? {} : { concurrency_key: key }),
  };
}

function promptText(prompt: unknown): string {
  if (typeof prompt === 'string' && prompt.trim() !== '') return prompt;
  throw new Error('its prompt is empty: the agent would have nothing to do');
}
