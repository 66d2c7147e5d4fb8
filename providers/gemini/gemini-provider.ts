/**
 * Gemini, on Google's SDK, which reads its environment itself. Its automatic function calls, continuations and retries
 * are off: the runtime does all three, and tells its readers.
 */
import { GoogleGenAI } from '@google/genai';
import { PerdureError } from '../../contract/errors.js';
import type { ModelProvider, ModelRequest, ModelStreamPart } from '../../contract/model-provider.js';
import { abortable } from '../abortable.js';
import { originOf, type ErrorContext } from '../describe-error.js';
import { createToolNames } from '../tool-names.js';
import { buildRequest } from './build-request.js';
import { classifyError } from './classify-error.js';
import { readStream } from './stream.js';

export interface GeminiOptions {
  /** Else `GOOGLE_API_KEY`, else `GEMINI_API_KEY`. */
  apiKey?: string;
  /** Else `GOOGLE_GEMINI_BASE_URL`, else Google. */
  baseURL?: string;
  fetch?: typeof globalThis.fetch;
}

export function gemini(options: GeminiOptions = {}): ModelProvider {
  let client: Client | undefined;
  return {
    name: 'gemini',
    async *stream(request, signal) {
      // Made at the first call: a worker without a key must start, and serve the agents that do not need one.
      const made = (client ??= createClient(options));
      yield* abortable(signal, (inner) => call(made, request, inner));
    },
  };
}

async function* call(client: Client, request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelStreamPart> {
  const names = createToolNames(request.tools.map((tool) => tool.name));
  const body = buildRequest(request, names, signal);
  const context = { model: request.model, origin: originOf(client.baseURL()), secrets: client.secrets() };
  const stream = await client.models.generateContentStream(body).catch((error: unknown) => {
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

/** What the SDK has made of options and environment. */
class Client extends GoogleGenAI {
  secrets(): string[] {
    return [this.apiClient.getApiKey() ?? ''].filter((secret) => secret !== '');
  }

  baseURL(): string {
    return this.apiClient.getBaseUrl();
  }
}

function createClient({ apiKey, baseURL, fetch }: GeminiOptions): Client {
  const client = new Client({
    ...(apiKey === undefined ? {} : { apiKey }),
    httpOptions: { ...(baseURL === undefined ? {} : { baseUrl: baseURL }), ...(fetch === undefined ? {} : { fetch }) },
  });
  // Without this the SDK looks for the credentials of whoever is logged in on this machine; Vertex has its own.
  if (client.vertexai || client.secrets().length > 0) return client;
  const what = 'No API key for gemini: neither GOOGLE_API_KEY nor GEMINI_API_KEY is set where the worker runs';
  throw new PerdureError('model_unauthorized', what, { provider: 'gemini' });
}
