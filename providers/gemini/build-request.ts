import type { GenerateContentConfig, GenerateContentParameters, ThinkingLevel } from '@google/genai';
import { PerdureError } from '../../contract/errors.js';
import type { ModelRequest } from '../../contract/model-provider.js';
import { readConversation, textOf } from '../conversation.js';
import { readParameters } from '../parameters.js';
import type { ToolNames } from '../tool-names.js';
import { convertTurns } from './convert-messages.js';
import { convertToolConfig, convertTools } from './convert-tools.js';

/** The SDK leaves out what it does not know without a word, so a parameter must be one of these. */
const PARAMETERS = new Set(
  (
    'temperature topP topK seed presencePenalty frequencyPenalty responseLogprobs logprobs maxOutputTokens ' +
    'stopSequences responseMimeType responseSchema responseJsonSchema safetySettings labels cachedContent ' +
    'mediaResolution thinkingConfig serviceTier store'
  ).split(' '),
);

export function buildRequest(request: ModelRequest, names: ToolNames, signal: AbortSignal): GenerateContentParameters {
  const { system, turns } = readConversation(request.messages);
  const toolConfig = convertToolConfig(request, names);
  const instructions = system.map(({ content }) => textOf(content)).filter((text) => text.trim() !== '');
  return {
    model: request.model,
    contents: convertTurns(turns, names, request.model),
    config: {
      ...convertParameters(request.parameters),
      ...(instructions.length === 0
        ? {}
        : { systemInstruction: { role: 'user', parts: instructions.map((text) => ({ text })) } }),
      ...(request.tools.length === 0 ? {} : { tools: [{ functionDeclarations: convertTools(request.tools, names) }] }),
      ...(toolConfig === undefined ? {} : { toolConfig }),
      // Each of these sends further requests by itself: the runtime retries, and counts what it pays for.
      automaticFunctionCalling: { disable: true },
      automaticContinuation: false,
      abortSignal: signal,
    },
  };
}

function convertParameters(parameters: Readonly<Record<string, unknown>>): GenerateContentConfig {
  const { max_output_tokens, stop, reasoning_effort, response_format, top_p, top_k, ...own } = readParameters(
    parameters,
    'gemini',
  );
  const unknown = Object.keys(own).filter((name) => !PARAMETERS.has(name));
  if (unknown.length > 0) {
    const what = `The parameters of the model profile cannot be sent to gemini: it has no ${unknown.join(', ')}. There are: max_output_tokens, stop, top_p, top_k, reasoning_effort, response_format, ${[...PARAMETERS].join(', ')}`;
    throw new PerdureError('model_bad_request', what, { provider: 'gemini' });
  }
  const { thinkingConfig, ...rest } = own as GenerateContentConfig;
  const effort = reasoning_effort?.toUpperCase() as ThinkingLevel | undefined;
  const thinking = { ...thinkingConfig, ...(effort === undefined ? {} : { thinkingLevel: effort }) };
  return {
    ...rest,
    ...(max_output_tokens === undefined ? {} : { maxOutputTokens: max_output_tokens }),
    ...(stop === undefined ? {} : { stopSequences: stop }),
    ...(top_p === undefined ? {} : { topP: top_p as number }),
    ...(top_k === undefined ? {} : { topK: top_k as number }),
    ...(Object.keys(thinking).length === 0 ? {} : { thinkingConfig: thinking }),
    ...(response_format === undefined
      ? {}
      : { responseMimeType: 'application/json', responseJsonSchema: response_format.schema }),
  };
}
