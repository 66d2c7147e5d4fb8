import type Anthropic from '@anthropic-ai/sdk';
import type { ToolDefinition } from '../../contract/completion.js';
import { PerdureError } from '../../contract/errors.js';
import type { ModelRequest } from '../../contract/model-provider.js';
import type { Conversation } from '../conversation.js';
import { strictForm, type StrictForm, type StrictRules } from '../strict-schema.js';
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
  optional: 'kept',
};
/** A request with more of them in its strict tools is refused. */
const MOST = { tools: 20, optional: 24, unions: 16 };

/** As with openai: what strict mode would refuse is sent without it, since the arguments are validated anyway. */
export function convertTools(tools: readonly ToolDefinition[], names: ToolNames): Anthropic.Tool[] {
  const taken = { tools: 0, optional: 0, unions: 0 };
  const take = ({ optional, unions }: StrictForm) => {
    const next = { tools: taken.tools + 1, optional: taken.optional + optional, unions: taken.unions + unions };
    if (next.tools > MOST.tools || next.optional > MOST.optional || next.unions > MOST.unions) return false;
    Object.assign(taken, next);
    return true;
  };
  return tools.map((tool) => {
    const form = tool.strict === true ? strictForm(tool.parameters, STRICT) : undefined;
    const strict = form !== undefined && take(form) ? form : undefined;
    return {
      name: names.toVendor(tool.name),
      description: tool.description,
      input_schema: (strict?.schema ?? inputSchema(tool)) as Anthropic.Tool.InputSchema,
      ...(strict === undefined ? {} : { strict: true }),
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
