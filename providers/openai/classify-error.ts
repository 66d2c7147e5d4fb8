/**
 * What the SDK throws, as our errors. Whether a code is retried is in contract/errors.ts; here it is only chosen.
 * The vendor's own code comes first, then its `x-should-retry` header, then the status.
 */
import { APIConnectionError, APIConnectionTimeoutError, APIError } from 'openai';
import { ERRORS, type ErrorCode, type PerdureError } from '../../contract/errors.js';
import { causeOf, codeByStatus, isTimeout, lookUp, vendorError } from '../describe-error.js';
import type { ErrorContext } from '../describe-error.js';
import { retryAfterMs } from '../retry-after.js';

const BY_VENDOR_CODE: Readonly<Record<string, ErrorCode>> = {
  context_length_exceeded: 'model_context_exceeded',
  // A 429 that no waiting cures: the account has no money left.
  insufficient_quota: 'model_forbidden',
  billing_hard_limit_reached: 'model_forbidden',
  billing_not_active: 'model_forbidden',
  invalid_api_key: 'model_unauthorized',
  model_not_found: 'model_not_found',
};

/** An error object in the middle of a stream has a type and no status. */
const BY_VENDOR_TYPE: Readonly<Record<string, ErrorCode>> = {
  rate_limit_exceeded: 'model_rate_limited',
  rate_limit_error: 'model_rate_limited',
  overloaded_error: 'model_overloaded',
  invalid_request_error: 'model_bad_request',
};

/** Where the header contradicts the status, the code is one whose entry in the table agrees with the header. */
const NEVER_RETRIED: Partial<Record<ErrorCode, ErrorCode>> = { model_rate_limited: 'model_forbidden' };

export function classifyError(error: unknown, context: ErrorContext): PerdureError {
  const failed = (code: ErrorCode, what: string) => vendorError(code, what, error, { ...context, provider: 'openai' });
  const to = `model ${context.model} at ${context.origin}`;
  if (error instanceof APIConnectionError) {
    const code = error instanceof APIConnectionTimeoutError || isTimeout(error) ? 'model_timeout' : 'model_network';
    return failed(code, `The request to ${to} failed: ${causeOf(error)}`);
  }
  if (error instanceof APIError) return classifyReply(error, to, context);
  if (context.phase === 'request') return failed('internal', `The request to ${to} was not sent: ${causeOf(error)}`);
  const code = isTimeout(error) ? 'model_timeout' : 'model_stream_cut';
  return failed(code, `The stream of ${to} broke off: ${causeOf(error)}`);
}

function classifyReply(error: APIError, to: string, context: ErrorContext): PerdureError {
  const http_status = error.status ?? statusInCode(error.code);
  const code = chooseCode(error, http_status);
  const retry_after_ms = ERRORS[code].retry ? retryAfterMs(error.headers) : undefined;
  const request = error.requestID ? ` (request ${error.requestID})` : '';
  const answer = http_status === undefined ? 'an error in its stream' : `${http_status}`;
  const what = `The ${to} answered ${answer}${request}: ${error.message.replace(/^\d{3} /, '')}`;
  return vendorError(code, what, error, { ...context, provider: 'openai' }, { http_status, retry_after_ms });
}

function chooseCode(error: APIError, status: number | undefined): ErrorCode {
  const named = lookUp(BY_VENDOR_CODE, error.code) ?? lookUp(BY_VENDOR_CODE, error.type);
  if (named !== undefined) return named;
  // Compatible servers say it in words only.
  if (status === 400 && /context (length|window|size)/i.test(error.message)) return 'model_context_exceeded';
  const code = byStatus(error, status);
  const shouldRetry = error.headers?.get('x-should-retry');
  if (shouldRetry === 'true' && !ERRORS[code].retry) return 'model_server_error';
  if (shouldRetry === 'false' && ERRORS[code].retry) return NEVER_RETRIED[code] ?? 'model_bad_request';
  return code;
}

function byStatus(error: APIError, status: number | undefined): ErrorCode {
  if (status === undefined)
    return lookUp(BY_VENDOR_TYPE, error.code) ?? lookUp(BY_VENDOR_TYPE, error.type) ?? 'model_server_error';
  return codeByStatus(status);
}

/** OpenRouter and others put the status that they could no longer send into the error object's code. */
function statusInCode(code: unknown): number | undefined {
  const status = Number(code ?? Number.NaN);
  return Number.isInteger(status) && status >= 400 && status < 600 ? status : undefined;
}
