/**
 * OpenAI, and every server that speaks its Chat Completions (`OPENAI_BASE_URL`), on the official SDK. The SDK reads
 * its environment itself; its retries are off, since the runtime retries and tells its readers.
 */
import OpenAI from 'openai';
import { PerdureError } from '../../contract/errors.js';
import type { ModelProvider, ModelRequest, ModelStreamPart } from '../../contract/model-provider.js';
import { abortable } from '../abortable.js';
import { originOf, type ErrorContext } from '../describe-error.js';
import { createToolNames } from '../tool-names.js';
import { buildRequest, clientRequestId } from './build-request.js';
import { classifyError } from './classify-error.js';
import { readStream } from './stream.js';

export interface OpenAIOptions {
  /** Else `OPENAI_API_KEY`. */
  apiKey?: string;
  /** Else `OPENAI_BASE_URL`, else OpenAI. */
  baseURL?: string;
  /** Else `OPENAI_ORG_ID`. */
  organization?: string;
  fetch?: typeof globalThis.fetch;
}

export function openai(options: OpenAIOptions = {}): ModelProvider {
  let client: OpenAI | undefined;
  return {
    name: 'openai',
    async *stream(request, signal) {
      // Made at the first call: a worker without a key must start, and serve the agents that do not need one.
      const made = (client ??= createClient(options));
      yield* abortable(signal, (inner) => call(made, request, inner));
    },
  };
}

async function* call(client: OpenAI, request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelStreamPart> {
  const names = createToolNames(request.tools.map((tool) => tool.name));
  const body = buildRequest(request, names);
  const context = { model: request.model, origin: originOf(client.baseURL) };
  const stream = await client.chat.completions
    .create(body, { signal, headers: { 'X-Client-Request-Id': clientRequestId(request) } })
    .catch((error: unknown) => {
      throw classifyError(error, { ...context, phase: 'request' });
    });
  yield* readStream(classified(stream, { ...context, phase: 'stream' }), request.model, names);
}

/** Only what the SDK throws is the vendor's fault; a mistake of ours must not be retried as a broken stream. */
async function* classified(chunks: AsyncIterable<unknown>, context: ErrorContext): AsyncGenerator<unknown> {
  try {
    yield* chunks;
  } catch (error) {
    throw classifyError(error, context);
  }
}

function createClient(options: OpenAIOptions): OpenAI {
  let client: OpenAI;
  try {
    // Off: the SDK prints chunks that it cannot parse, and those hold what users said.
    client = new OpenAI({ ...options, maxRetries: 0, logLevel: 'off' });
  } catch (error) {
    throw missingKey(error);
  }
  // With an administrator's key in the environment the SDK is content, but the call would be refused.
  if (!client.apiKey) throw missingKey(undefined);
  return client;
}

function missingKey(cause: unknown): PerdureError {
  const what =
    'No API key for openai: OPENAI_API_KEY is not set where the worker runs (a local server takes any value)';
  return new PerdureError('model_unauthorized', what, { provider: 'openai', cause });
}
