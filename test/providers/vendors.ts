/** What the behaviour suite needs to know of a vendor: how to reach it on a socket, and what its API looks like there. */
import type { ModelProvider } from '../../contract/model-provider.js';
import { anthropic, gemini, openai } from '../../providers/index.js';
import { errorReply, streamsOf, type StreamReply, type WireReply } from './wire-server.js';

type Json = Record<string, unknown>;

export interface Vendor {
  name: 'openai' | 'anthropic' | 'gemini';
  model: string;
  /** Where its API begins under the server's address. */
  path: string;
  connect(baseURL: string): ModelProvider;
  stream: StreamReply;
  errors: Record<'rate_limited' | 'overloaded' | 'context' | 'unauthorized' | 'not_found' | 'bad_request', WireReply>;
  /** The parts of a request's body that the suite compares. */
  wire: {
    url: string;
    /** The texts of the last message of the user. */
    userParts(body: Json): unknown;
    tools(body: Json): unknown;
    toolChoice(body: Json): unknown;
    format(body: Json): unknown;
    limit(body: Json): unknown;
  };
}

const SLOW_DOWN = { 'retry-after': '20' };
const TOO_LONG =
  "This model's maximum context length is 128000 tokens. However, your messages resulted in 200000 tokens.";

function at(value: unknown, ...path: (string | number)[]): unknown {
  return path.reduce<unknown>((inner, key) => {
    const list = inner as unknown[] | undefined;
    return typeof key === 'number' ? list?.at(key) : (inner as Json | undefined)?.[key];
  }, value);
}

const OPENAI: Vendor = {
  name: 'openai',
  model: 'gpt-4o',
  path: '/v1',
  connect: (baseURL) => openai({ apiKey: 'sk-test', baseURL }),
  stream: streamsOf('openai'),
  errors: {
    rate_limited: errorReply(
      429,
      { message: 'Rate limit reached', type: 'tokens', code: 'rate_limit_exceeded' },
      SLOW_DOWN,
    ),
    overloaded: errorReply(503, { message: 'The engine is currently overloaded', type: 'server_error', code: null }),
    context: errorReply(400, { message: TOO_LONG, type: 'invalid_request_error', code: 'context_length_exceeded' }),
    unauthorized: errorReply(401, {
      message: 'Incorrect API key provided',
      type: 'invalid_request_error',
      code: 'invalid_api_key',
    }),
    not_found: errorReply(404, {
      message: 'The model does not exist',
      type: 'invalid_request_error',
      code: 'model_not_found',
    }),
    bad_request: errorReply(400, { message: 'Invalid value', type: 'invalid_request_error', code: null }),
  },
  wire: {
    url: '/v1/chat/completions',
    userParts: (body) => at(body, 'messages', -1, 'content'),
    tools: (body) => at(body, 'tools'),
    toolChoice: (body) => at(body, 'tool_choice'),
    format: (body) => at(body, 'response_format'),
    limit: (body) => at(body, 'max_completion_tokens'),
  },
};

const anthropicError = (status: number, type: string, message: string, headers = {}): WireReply => ({
  ...errorReply(status, {}, headers),
  body: JSON.stringify({ type: 'error', error: { type, message, details: null }, request_id: 'req_7' }),
});

const ANTHROPIC: Vendor = {
  name: 'anthropic',
  model: 'claude-sonnet-5',
  path: '',
  connect: (baseURL) => anthropic({ apiKey: 'sk-ant-test', baseURL }),
  stream: streamsOf('anthropic'),
  errors: {
    rate_limited: anthropicError(429, 'rate_limit_error', 'This request would exceed your rate limit', SLOW_DOWN),
    overloaded: anthropicError(529, 'overloaded_error', 'Overloaded'),
    context: anthropicError(400, 'invalid_request_error', 'prompt is too long: 210000 tokens > 200000 maximum'),
    unauthorized: anthropicError(401, 'authentication_error', 'invalid x-api-key'),
    not_found: anthropicError(404, 'not_found_error', 'model: claude-nothing'),
    bad_request: anthropicError(400, 'invalid_request_error', 'temperature: range: -1..1'),
  },
  wire: {
    url: '/v1/messages',
    userParts: (body) => at(body, 'messages', -1, 'content'),
    tools: (body) => at(body, 'tools'),
    toolChoice: (body) => at(body, 'tool_choice'),
    format: (body) => at(body, 'output_config', 'format'),
    limit: (body) => at(body, 'max_tokens'),
  },
};

const geminiError = (code: number, status: string, message: string, details: Json[] = []): WireReply =>
  errorReply(code, { code, message, status, ...(details.length === 0 ? {} : { details }) });

const GEMINI: Vendor = {
  name: 'gemini',
  model: 'gemini-3-pro',
  path: '',
  connect: (baseURL) => gemini({ apiKey: 'AIza-test', baseURL }),
  stream: streamsOf('gemini'),
  errors: {
    rate_limited: geminiError(429, 'RESOURCE_EXHAUSTED', 'You exceeded your current quota', [
      { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '20s' },
    ]),
    overloaded: geminiError(503, 'UNAVAILABLE', 'The model is overloaded. Please try again later.'),
    context: geminiError(
      400,
      'INVALID_ARGUMENT',
      'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
    ),
    unauthorized: geminiError(400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.', [
      { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID', domain: 'googleapis.com' },
    ]),
    not_found: geminiError(404, 'NOT_FOUND', 'models/gemini-nothing is not found for API version v1beta'),
    bad_request: geminiError(400, 'INVALID_ARGUMENT', 'Invalid value at generation_config.temperature'),
  },
  wire: {
    url: '/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse',
    userParts: (body) => at(body, 'contents', -1, 'parts'),
    tools: (body) => at(body, 'tools', 0, 'functionDeclarations'),
    toolChoice: (body) => at(body, 'toolConfig', 'functionCallingConfig'),
    format: (body) => at(body, 'generationConfig', 'responseJsonSchema'),
    limit: (body) => at(body, 'generationConfig', 'maxOutputTokens'),
  },
};

export const VENDORS = [OPENAI, ANTHROPIC, GEMINI];
