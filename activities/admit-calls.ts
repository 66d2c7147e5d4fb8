/** Evaluates what is a function in the configuration: approval rules, prompts of children, concurrency keys. */
import type { Admission, AdmitInput } from '../contract/activities.js';
import { callerOf } from '../contract/principal.js';
import { toolFailure } from '../contract/tool-failure.js';
import type { RunContext } from '../kit/define-tool.js';
import type { RegisteredTool } from '../kit/registry.js';
import { findTool } from './find-tool.js';
import type { ToolSources } from './find-tool.js';
import { givenArguments } from './given-arguments.js';
import { parseArguments } from './parse-arguments.js';
import { failedCall, isUnexpected } from './thrown.js';
import type { ReportThrown } from './thrown.js';

export async function admitCalls(
  sources: ToolSources & { threw: ReportThrown },
  input: AdmitInput,
): Promise<Admission[]> {
  const { run, calls, caller = callerOf({}) } = input;
  return Promise.all(
    calls.map(async ({ tool_call_id, tool_id, arguments: text, found }): Promise<Admission> => {
      const known = findTool(sources, tool_id, found);
      if (known === undefined) {
        const gone = `This worker has no tool ${tool_id}: it may have been removed since the run began.`;
        return { tool_call_id, failure: toolFailure('unavailable', gone) };
      }
      try {
        const parsed = await parseArguments(known, text);
        return {
          tool_call_id,
          arguments: givenArguments(parsed, text),
          ...(await evaluate(known, parsed, { run, ...caller })),
        };
      } catch (error) {
        if (isUnexpected(error))
          sources.threw({ what: `a rule or prompt of tool ${tool_id}`, error, run_id: run.run_id, tool_call_id });
        // A rule that breaks must not let a call through.
        return { tool_call_id, ...failedCall(`A rule of ${tool_id}`, error) };
      }
    }),
  );
}

async function evaluate(
  { tool }: RegisteredTool,
  input: unknown,
  context: RunContext,
): Promise<Omit<Admission, 'tool_call_id'>> {
  const { approval, concurrency_key } = tool.options;
  const key = concurrency_key?.(input, context);
  return {
    ...(typeof approval === 'function' ? { approval: await approval(input, context) } : {}),
    ...(tool.child === undefined ? {} : { prompt: promptText(await tool.child.prompt(input, context)) }),
    ...(key === undefined ? {} : { concurrency_key: key }),
  };
}

function promptText(prompt: unknown): string {
  if (typeof prompt === 'string' && prompt.trim() !== '') return prompt;
  throw new Error('its prompt is empty: the agent would have nothing to do');
}
