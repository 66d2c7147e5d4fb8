import type OpenAI from 'openai';
import type { ToolDefinition } from '../../contract/completion.js';
import type { ModelRequest } from '../../contract/model-provider.js';
import { strictForm, type StrictRules } from '../strict-schema.js';
import { inputSchema, readToolChoice } from '../tool-choice.js';
import type { ToolNames } from '../tool-names.js';

type VendorTool = OpenAI.ChatCompletionFunctionTool;
type VendorChoice = OpenAI.ChatCompletionToolChoiceOption;

/** From its guide: https://platform.openai.com/docs/guides/structured-outputs */
export const STRICT: StrictRules = {
  keywords: new Set(
    (
      '$schema $id $ref $defs definitions title description type properties required additionalProperties items enum ' +
      'const anyOf pattern format multipleOf minimum maximum exclusiveMinimum exclusiveMaximum minItems maxItems'
    ).split(' '),
  ),
  formats: new Set('date-time time date duration email hostname ipv4 ipv6 uuid'.split(' ')),
  // "All fields must be required", its guide says: what may be left out is null.
  optional: 'nullable',
};

/**
 * A strict tool whose schema strict mode cannot take (open objects, keywords it does not know) is sent without
 * `strict`: the arguments are validated anyway, and a refused request would end the run.
 */
export function convertTools(tools: readonly ToolDefinition[], names: ToolNames, mayBeStrict: boolean): VendorTool[] {
  return tools.map((tool) => {
    const strict = mayBeStrict && tool.strict === true ? strictForm(tool.parameters, STRICT) : undefined;
    return {
      type: 'function',
      function: {
        name: names.toVendor(tool.name),
        description: tool.description,
        parameters: strict?.schema ?? inputSchema(tool),
        ...(strict === undefined ? {} : { strict: true }),
      },
    };
  });
}

export function convertToolChoice(request: ModelRequest, names: ToolNames): VendorChoice | undefined {
  const choice = readToolChoice(request, 'openai');
  return typeof choice === 'object' ? { type: 'function', function: { name: names.toVendor(choice.tool) } } : choice;
}
