/**
 * Anthropic's Messages API, on the official SDK. The SDK reads its environment itself; its retries are off, since the
 * runtime retries and tells its readers.
 */
import Anthropic from '@anthropic-ai/sdk';
import { PerdureError } from '../../contract/errors.js';
import type { ModelProvider, ModelRequest, ModelStreamPart } from '../../contract/model-provider.js';
import { abortable } from '../abortable.js';
import { originOf, type ErrorContext } from '../describe-error.js';
import { createToolNames } from '../tool-names.js';
import { buildRequest } from './build-request.js';
import { classifyError } from './classify-error.js';
import { readStream } from './stream.js';

export interface AnthropicOptions {
  /** Else `ANTHROPIC_API_KEY`. */
  apiKey?: string;
  /** Else `ANTHROPIC_BASE_URL`, else Anthropic. */
  baseURL?: string;
  fetch?: typeof globalThis.fetch;
}

export function anthropic(options: AnthropicOptions = {}): ModelProvider {
  let client: Anthropic | undefined;
  return {
    name: 'anthropic',
    async *stream(request, signal) {
      // Made at the first call: a worker without a key must start, and serve the agents that do not need one.
      const made = (client ??= createClient(options));
      yield* abortable(signal, (inner) => call(made, request, inner));
    },
  };
}

async function* call(client: Anthropic, request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelStreamPart> {
  const names = createToolNames(request.tools.map((tool) => tool.name));
  const body = buildRequest(request, names);
  const secrets = [client.apiKey, client.authToken].filter((secret) => typeof secret === 'string');
  const context = { model: request.model, origin: originOf(client.baseURL), secrets };
  const stream = await client.messages.create(body, { signal }).catch((error: unknown) => {
    throw classifyError(error, { ...context, phase: 'request' });
  });
  yield* readStream(classified(stream, { ...context, phase: 'stream' }), request.model, names);
}

/** Only what the SDK throws is the vendor's fault; a mistake of ours must not be retried as a broken stream. */
async function* classified(events: AsyncIterable<unknown>, context: ErrorContext): AsyncGenerator<unknown> {
  try {
    yield* events;
  } catch (error) {
    throw classifyError(error, context);
  }
}

function createClient(options: AnthropicOptions): Anthropic {
  // Off: the SDK prints events that it cannot parse, and those hold what users said.
  const client = new Anthropic({ ...options, maxRetries: 0, logLevel: 'off' });
  if (client.apiKey || client.authToken) return client;
  // Without this the SDK looks for the credentials of whoever is logged in on this machine.
  const what = 'No API key for anthropic: ANTHROPIC_API_KEY is not set where the worker runs';
  throw new PerdureError('model_unauthorized', what, { provider: 'anthropic' });
}
