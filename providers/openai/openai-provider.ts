/**
 * OpenAI, and every server that speaks its Chat Completions (`OPENAI_BASE_URL`), on the official SDK. The SDK reads
 * its environment itself; its retries are off, since the runtime retries and tells its readers.
 */
import OpenAI, { APIError } from 'openai';
import { PerdureError } from '../../contract/errors.js';
import type { ModelProvider, ModelRequest, ModelStreamPart } from '../../contract/model-provider.js';
import { abortable } from '../abortable.js';
import { originOf, type ErrorContext } from '../describe-error.js';
import { createToolNames } from '../tool-names.js';
import { buildRequest, clientRequestId } from './build-request.js';
import { classifyError } from './classify-error.js';
import { withErrorBody } from './error-body.js';
import { createLimitNames } from './limit-name.js';
import type { LimitName, LimitNames } from './limit-name.js';
import { readStream } from './stream.js';

export interface OpenAIOptions {
  /** Else `OPENAI_API_KEY`. */
  apiKey?: string;
  /** Else `OPENAI_BASE_URL`, else OpenAI. */
  baseURL?: string;
  /** Else `OPENAI_ORG_ID`. */
  organization?: string;
  fetch?: typeof globalThis.fetch;
  /**
   * How the server calls the limit of an answer; `max_completion_tokens` for OpenAI. Of other servers it is found out
   * if absent: one that refuses that name, or ignores it, gets `max_tokens` from then on.
   */
  maxTokensParameter?: LimitName;
  /** False: tools are sent without `strict`, for a server that does not take it (true by default). */
  strictTools?: boolean;
}

export function openai(options: OpenAIOptions = {}): ModelProvider {
  const { maxTokensParameter, strictTools = true, ...clientOptions } = options;
  let made: { client: OpenAI; limits: LimitNames } | undefined;
  const open = () => {
    const client = createClient(clientOptions);
    return { client, limits: createLimitNames(maxTokensParameter, client.baseURL) };
  };
  return {
    name: 'openai',
    async *stream(request, signal) {
      // Made at the first call: a worker without a key must start, and serve the agents that do not need one.
      made ??= open();
      const { client, limits } = made;
      yield* abortable(signal, (inner) => call(client, limits, strictTools, request, inner));
    },
  };
}

async function* call(
  client: OpenAI,
  limits: LimitNames,
  strictTools: boolean,
  request: ModelRequest,
  signal: AbortSignal,
): AsyncGenerator<ModelStreamPart> {
  const names = createToolNames(request.tools.map((tool) => tool.name));
  const context = { model: request.model, origin: originOf(client.baseURL), secrets: [client.apiKey ?? ''] };
  const headers = { 'X-Client-Request-Id': clientRequestId(request) };
  const ask = (limitName: LimitName) =>
    client.chat.completions.create(buildRequest(request, names, limitName, strictTools), { signal, headers });
  const sent = limits.name();
  const stream = await ask(sent)
    .catch(async (error: unknown) => {
      const other = limits.other(sent);
      if (other === undefined || !refuses(error, sent)) throw error;
      const answered = await ask(other);
      limits.keep(other);
      return answered;
    })
    .catch((error: unknown) => {
      throw classifyError(error, { ...context, phase: 'request' });
    });
  yield* readStream(classified(stream, { ...context, phase: 'stream' }), request, names, () =>
    limits.noteIgnored(sent),
  );
}

/** A bad request that names the parameter. */
function refuses(error: unknown, parameter: LimitName): boolean {
  if (!(error instanceof APIError) || (error.status !== 400 && error.status !== 422)) return false;
  return error.param === parameter || error.message.includes(parameter);
}

/** Only what the SDK throws is the vendor's fault; a mistake of ours must not be retried as a broken stream. */
async function* classified(chunks: AsyncIterable<unknown>, context: ErrorContext): AsyncGenerator<unknown> {
  try {
    yield* chunks;
  } catch (error) {
    throw classifyError(error, context);
  }
}

function createClient({ fetch = globalThis.fetch, ...options }: Omit<OpenAIOptions, 'maxTokensParameter'>): OpenAI {
  let client: OpenAI;
  try {
    // Off: the SDK prints chunks that it cannot parse, and those hold what users said.
    client = new OpenAI({ ...options, fetch: withErrorBody(fetch), maxRetries: 0, logLevel: 'off' });
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
