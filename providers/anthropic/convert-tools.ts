import type Anthropic from '@anthropic-ai/sdk';
import type { ToolDefinition } from '../../contract/completion.js';
import { PerdureError } from '../../contract/errors.js';
import type { ModelRequest } from '../../contract/model-provider.js';
import type { Conversation } from '../conversation.js';
import { fitsStrictMode, type StrictRules } from '../strict-schema.js';
import { inputSchema, readToolChoice } from '../tool-choice.js';
import type { ToolNames } from '../tool-names.js';

/** What the SDK's own schema helper keeps; the rest it moves into descriptions. */
const STRICT: StrictRules = {
  keywords: new Set(
    '$schema $ref $defs title description type properties required additionalProperties items enum const anyOf format'.split(
      ' ',
    ),
  ),
  formats: new Set('date-time time date duration email hostname uri ipv4 ipv6 uuid'.split(' ')),
};
/** A request with more strict tools is refused. */
const MAX_STRICT_TOOLS = 20;

/** As with openai: what strict mode would refuse is sent without it, since the arguments are validated anyway. */
export function convertTools(tools: readonly ToolDefinition[], names: ToolNames): Anthropic.Tool[] {
  let strict = 0;
  return tools.map((tool) => {
    const isStrict = tool.strict === true && fitsStrictMode(tool.parameters, STRICT) && ++strict <= MAX_STRICT_TOOLS;
    return {
      name: names.toVendor(tool.name),
      description: tool.description,
      input_schema: inputSchema(tool) as Anthropic.Tool.InputSchema,
      ...(isStrict ? { strict: true } : {}),
    };
  });
}

export function convertToolChoice(request: ModelRequest, names: ToolNames): Anthropic.ToolChoice | undefined {
  const choice = readToolChoice(request, 'anthropic');
  if (choice === undefined) return undefined;
  if (choice === 'auto' || choice === 'none') return { type: choice };
  if ((request.parameters['thinking'] as { type?: unknown } | undefined)?.type === 'enabled') {
    const what = `tool_choice ${JSON.stringify(request.tool_choice)} cannot be sent to anthropic with thinking enabled: it takes auto and none then`;
    throw new PerdureError('model_bad_request', what, { provider: 'anthropic' });
  }
  return choice === 'required' ? { type: 'any' } : { type: 'tool', name: names.toVendor(choice.tool) };
}

/** The tools that past calls name, for a request that offers none. */
export function pastTools(turns: Conversation['turns'], names: ToolNames): Anthropic.Tool[] {
  const called = turns.flatMap((turn) => (turn.role === 'assistant' ? [...turn.calls.values()] : []));
  const past = new Set(called.map(({ call }) => names.toVendor(call.function.name)));
  return [...past].map((name) => ({
    name,
    description: 'Was called before; not available now.',
    input_schema: { type: 'object' },
  }));
}
