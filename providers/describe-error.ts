/** What an SDK or the network threw, in words that may be logged, and whether it was a matter of time. */
import { PerdureError } from '../contract/errors.js';
import type { ErrorCode } from '../contract/errors.js';
import { scrubSecrets } from '../contract/scrub-secrets.js';

export interface ErrorContext {
  model: string;
  /** Where the request went, without credentials or path. */
  origin: string;
  phase: 'request' | 'stream';
  /** What the request was made with, and no message may repeat. */
  secrets: readonly string[];
}

const BY_STATUS: Readonly<Record<number, ErrorCode>> = {
  400: 'model_bad_request',
  401: 'model_unauthorized',
  403: 'model_forbidden',
  404: 'model_not_found',
  408: 'model_timeout',
  409: 'model_server_error',
  413: 'model_context_exceeded',
  422: 'model_bad_request',
  429: 'model_rate_limited',
  500: 'model_server_error',
  502: 'model_server_error',
  503: 'model_overloaded',
  504: 'model_timeout',
  529: 'model_overloaded',
};

export function codeByStatus(status: number): ErrorCode {
  return BY_STATUS[status] ?? (status >= 500 ? 'model_server_error' : 'model_bad_request');
}

export function lookUp(table: Readonly<Record<string, ErrorCode>>, key: unknown): ErrorCode | undefined {
  return typeof key === 'string' && Object.hasOwn(table, key) ? table[key] : undefined;
}

/** undici waits five minutes for headers, and as long between two chunks. */
export function isTimeout(error: unknown): boolean {
  return codesOf(error).some((code) => /^UND_ERR_(HEADERS|BODY|CONNECT)_TIMEOUT$|^ETIMEDOUT$/.test(code));
}

/** The codes that the network gave, outermost first. */
export function codesOf(error: unknown): string[] {
  const codes: string[] = [];
  for (let e = error; e instanceof Error; e = e.cause) {
    const { code } = e as { code?: unknown };
    if (typeof code === 'string') codes.push(code);
  }
  return codes;
}

/** What was thrown, with its causes. */
export function causeOf(error: unknown): string {
  const messages: string[] = [];
  for (let e = error; e instanceof Error; e = e.cause) messages.push(e.message.replace(/\.$/, ''));
  return messages.length === 0 ? String(error) : messages.join(': ');
}

/** The error as it leaves a provider: nothing of it, nor of its cause, repeats what the request was made with. */
export function vendorError(
  code: ErrorCode,
  what: string,
  cause: unknown,
  { provider, phase, secrets }: Pick<ErrorContext, 'phase' | 'secrets'> & { provider: string },
  reply: { http_status?: number | undefined; retry_after_ms?: number | undefined } = {},
): PerdureError {
  const { http_status, retry_after_ms } = reply;
  return new PerdureError(code, scrubSecrets(what, secrets).slice(0, MOST_CHARS), {
    provider,
    cause: scrubbedCause(cause, secrets),
    not_taken: phase === 'request' && (NOT_TAKEN.has(code) || isUnreached(cause)),
    ...(http_status === undefined ? {} : { http_status }),
    ...(retry_after_ms === undefined ? {} : { retry_after_ms }),
  });
}

const NOT_TAKEN: ReadonlySet<ErrorCode> = new Set(['model_network', 'model_rate_limited', 'model_overloaded']);

/** There was no connection, in all the time that it was given. */
function isUnreached(error: unknown): boolean {
  return codesOf(error).some((code) => /^UND_ERR_CONNECT_TIMEOUT$|^ETIMEDOUT$/.test(code));
}

const MOST_CHARS = 1_500;

/** Its words and its stack: an SDK's own error holds the headers and the body of the answer. */
function scrubbedCause(cause: unknown, secrets: readonly string[]): Error {
  const scrubbed = new Error(scrubSecrets(causeOf(cause), secrets).slice(0, MOST_CHARS));
  if (!(cause instanceof Error)) return scrubbed;
  scrubbed.name = cause.name;
  scrubbed.stack = scrubSecrets(cause.stack ?? '', secrets);
  return scrubbed;
}

export function originOf(baseURL: string): string {
  return URL.canParse(baseURL) ? new URL(baseURL).origin : baseURL;
}
