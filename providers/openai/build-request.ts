import type OpenAI from 'openai';
import type { ModelRequest } from '../../contract/model-provider.js';
import type { ToolNames } from '../tool-names.js';
import { convertMessages } from './convert-messages.js';
import { convertToolChoice, convertTools } from './convert-tools.js';
import type { LimitName } from './limit-name.js';

export function buildRequest(
  request: ModelRequest,
  names: ToolNames,
  limitName: LimitName,
  mayBeStrict: boolean,
): OpenAI.ChatCompletionCreateParamsStreaming {
  const parameters = convertParameters(request.parameters, limitName);
  const tools = convertTools(request.tools, names, mayBeStrict);
  const toolChoice = convertToolChoice(request, names);
  const streamOptions = parameters['stream_options'] as OpenAI.ChatCompletionStreamOptions | undefined;
  return {
    ...parameters,
    model: request.model,
    messages: convertMessages(request.messages, names),
    ...(tools.length === 0 ? {} : { tools }),
    ...(toolChoice === undefined ? {} : { tool_choice: toolChoice }),
    stream: true,
    stream_options: { ...streamOptions, include_usage: true },
  };
}

/** For the vendor's log, so that a run can be found there: OpenAI takes up to 512 ASCII characters. */
export function clientRequestId(request: ModelRequest): string {
  return `${request.run_id}:${request.step_id}:${request.attempt}`.replaceAll(/[^\x21-\x7e]/g, '_').slice(-512);
}

/** How long an answer may be, as the server is asked. */
export function askedLimit({ parameters }: ModelRequest): number | undefined {
  const { max_output_tokens, max_completion_tokens, max_tokens } = parameters;
  const asked = max_output_tokens ?? max_completion_tokens ?? max_tokens;
  return typeof asked === 'number' && asked > 0 ? asked : undefined;
}

/** Ours → OpenAI's. What is not listed is sent as it is, so a new or a compatible server's parameter needs no change. */
function convertParameters(
  parameters: Readonly<Record<string, unknown>>,
  limitName: LimitName,
): Record<string, unknown> {
  const { max_output_tokens: limit, ...rest } = parameters;
  return limit === undefined ? rest : { ...rest, [limitName]: limit };
}
