/**
 * One question to an engine's API. Its address is the operator's, so it may be anywhere; what it answers is bounded
 * and checked all the same.
 */
import { request } from 'undici';
import type { z } from 'zod';
import { ToolError } from '../../../kit/tool-error.js';
import { readBody } from '../fetch/read-body.js';
import type { SearchResult } from './search-engine.js';

const TIMEOUT_MS = 15_000;
const MAX_BYTES = 2 * 1024 * 1024;
const MAX_REASON_CHARS = 200;

export interface Question {
  engine: string;
  url: URL;
  method?: 'GET' | 'POST';
  headers?: Record<string, string>;
  body?: unknown;
  /** What a refusal for want of permission means with this engine. */
  refused: string;
  signal: AbortSignal;
}

export async function askEngine<Reply>(question: Question, schema: z.ZodType<Reply>): Promise<Reply> {
  const { engine, signal } = question;
  const { status, text, retryAfter } = await send(question);
  if (status === 429) {
    const wait = retryAfter === '' ? '' : ` It asks to wait: ${retryAfter.slice(0, 40)}.`;
    throw new ToolError('rate_limited', `${engine} answered 429, too many requests${reasonOf(text)}.${wait}`);
  }
  if (status === 401 || status === 403)
    throw new ToolError('denied', `${engine} answered ${status}${reasonOf(text)}. ${question.refused}`);
  if (status < 200 || status >= 300)
    throw new ToolError('unavailable', `${engine} answered ${status}${reasonOf(text)}.`, { retryable: status >= 500 });
  signal.throwIfAborted();
  const parsed = schema.safeParse(asJson(text));
  if (parsed.success) return parsed.data;
  throw new ToolError('malformed_result', `${engine} answered with something that is no list of results.`);
}

async function send(question: Question): Promise<{ status: number; text: string; retryAfter: string }> {
  const { engine, url, method = 'GET', headers = {}, body, signal } = question;
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const reply = await request(url, {
      method,
      headers: {
        accept: 'application/json',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.any([signal, timeout]),
    });
    const limits = { max_bytes: MAX_BYTES, max_text_bytes: MAX_BYTES };
    const encoding = String(reply.headers['content-encoding'] ?? '');
    const bytes = await readBody(reply.body as AsyncIterable<Buffer>, { encoding, length: undefined }, limits);
    return { status: reply.statusCode, text: bytes.toString(), retryAfter: String(reply.headers['retry-after'] ?? '') };
  } catch (error) {
    if (signal.aborted || (error as Error).name === 'ToolError') throw error;
    if (timeout.aborted) throw new ToolError('timeout', `${engine} did not answer within ${TIMEOUT_MS} ms.`);
    const why = error instanceof Error ? error.message : String(error);
    throw new ToolError('unavailable', `${engine} could not be reached: ${why}.`, { retryable: true, cause: error });
  }
}

/** The engine's own words, where its reply has some in one of the usual places. */
function reasonOf(text: string): string {
  const { error, detail, message } = (asJson(text) ?? {}) as Record<string, unknown>;
  const inner = (value: unknown) => {
    const { detail: said, error: named, message: told } = (value ?? {}) as Record<string, unknown>;
    return [value, said, named, told].find((found) => typeof found === 'string');
  };
  const reason = inner(error) ?? inner(detail) ?? inner(message);
  return reason === undefined ? '' : `: ${(reason as string).slice(0, MAX_REASON_CHARS)}`;
}

function asJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Engines put markup into what they found: bold terms, entities. */
export function plainText(marked: string): string {
  return marked
    .replaceAll(/<[^<>]{0,200}>/g, '')
    .replaceAll(/&(?:quot|#34|#x22);/g, '"')
    .replaceAll(/&(?:apos|#39|#x27);/g, "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&nbsp;', ' ')
    .replaceAll('&amp;', '&')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

/** Only what can be opened, and as many as were asked for. */
export function firstResults(results: readonly SearchResult[], count: number): SearchResult[] {
  return results.filter(({ url }) => /^https?:\/\//i.test(url) && URL.canParse(url)).slice(0, count);
}

export function missingKey(engine: string, name: string): ToolError {
  return new ToolError('denied', `${engine} has no key on this worker: its operator has to set ${name}.`);
}
