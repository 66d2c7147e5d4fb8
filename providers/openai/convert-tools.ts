import type OpenAI from 'openai';
import type { ToolChoice, ToolDefinition } from '../../contract/completion.js';
import { PerdureError } from '../../contract/errors.js';
import type { ToolNames } from '../tool-names.js';
import { fitsStrictMode } from './strict-schema.js';

type VendorTool = OpenAI.ChatCompletionFunctionTool;
type VendorChoice = OpenAI.ChatCompletionToolChoiceOption;

/**
 * A strict tool whose schema strict mode would refuse (optional properties, open objects, keywords it does not know)
 * is sent without `strict`: the arguments are validated anyway, and a refused request would end the run.
 */
export function convertTools(tools: readonly ToolDefinition[], names: ToolNames): VendorTool[] {
  return tools.map((tool) => ({
    type: 'function',
    function: {
      name: names.toVendor(tool.name),
      description: tool.description,
      // A tool without input: OpenAI wants an object all the same.
      parameters: Object.keys(tool.parameters).length === 0 ? { type: 'object', properties: {} } : tool.parameters,
      ...(tool.strict === true && fitsStrictMode(tool.parameters) ? { strict: true } : {}),
    },
  }));
}

/** Undefined: not to be sent. OpenAI refuses any choice where there are no tools. */
export function convertToolChoice(
  choice: ToolChoice,
  tools: readonly ToolDefinition[],
  names: ToolNames,
): VendorChoice | undefined {
  const offered = tools.length > 0;
  if (choice === 'auto') return offered ? 'auto' : undefined;
  if (choice === 'none') return offered ? 'none' : undefined;
  if (choice === 'required' && offered) return 'required';
  if (tools.some((tool) => tool.name === choice))
    return { type: 'function', function: { name: names.toVendor(choice) } };
  const have = offered ? tools.map((tool) => tool.name).join(', ') : 'none';
  const what = `tool_choice ${JSON.stringify(choice)} cannot be sent to openai: the tools of the request are ${have}`;
  throw new PerdureError('model_bad_request', what, { provider: 'openai' });
}
