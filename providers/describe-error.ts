/** What an SDK or the network threw, in words that may be logged, and whether it was a matter of time. */
import type { ErrorCode } from '../contract/errors.js';

export interface ErrorContext {
  model: string;
  /** Where the request went, without credentials or path. */
  origin: string;
  phase: 'request' | 'stream';
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

export function causeOf(error: unknown): string {
  const messages: string[] = [];
  for (let e = error; e instanceof Error; e = e.cause) messages.push(e.message.replace(/\.$/, ''));
  return safeText(messages.length === 0 ? String(error) : messages.join(': '));
}

/** A 401 repeats part of the key. */
export function safeText(text: string): string {
  return text
    .replaceAll(/\bsk-[\w*-]+/g, 'sk-…')
    .replaceAll(/\bAIza[\w-]+/g, 'AIza…')
    .slice(0, 1000);
}

export function originOf(baseURL: string): string {
  return URL.canParse(baseURL) ? new URL(baseURL).origin : baseURL;
}
