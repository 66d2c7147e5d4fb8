/**
 * What the SDK throws, as our errors. Whether a code is retried is in contract/errors.ts; here it is only chosen.
 * The type that the vendor names comes first: an error in the middle of a stream has no status.
 */
import { APIConnectionError, APIConnectionTimeoutError, APIError } from '@anthropic-ai/sdk';
import { ERRORS, PerdureError, type ErrorCode } from '../../contract/errors.js';
import { causeOf, codeByStatus, isTimeout, lookUp, safeText } from '../describe-error.js';
import type { ErrorContext } from '../describe-error.js';
import { retryAfterMs } from '../retry-after.js';

const BY_TYPE: Readonly<Record<string, ErrorCode>> = {
  authentication_error: 'model_unauthorized',
  // The account has no money left: no waiting cures it.
  billing_error: 'model_forbidden',
  permission_error: 'model_forbidden',
  not_found_error: 'model_not_found',
  request_too_large: 'model_context_exceeded',
  rate_limit_error: 'model_rate_limited',
  timeout_error: 'model_timeout',
  api_error: 'model_server_error',
  overloaded_error: 'model_overloaded',
};

const TOO_LONG = /prompt is too long|context (length|window|limit)|exceed.{0,40}context/i;

export function classifyError(error: unknown, context: ErrorContext): PerdureError {
  const to = `model ${context.model} at ${context.origin}`;
  if (error instanceof APIConnectionError) {
    const code = error instanceof APIConnectionTimeoutError || isTimeout(error) ? 'model_timeout' : 'model_network';
    return perdureError(code, `The request to ${to} failed: ${causeOf(error)}`, error);
  }
  if (error instanceof APIError) return classifyReply(error, to);
  if (context.phase === 'request')
    return perdureError('internal', `The request to ${to} was not sent: ${causeOf(error)}`, error);
  const code = isTimeout(error) ? 'model_timeout' : 'model_stream_cut';
  return perdureError(code, `The stream of ${to} broke off: ${causeOf(error)}`, error);
}

function classifyReply(error: APIError, to: string): PerdureError {
  const { status } = error;
  const code = chooseCode(error);
  const retryAfter = ERRORS[code].retry ? retryAfterMs(error.headers) : undefined;
  const request = error.requestID ? ` (request ${error.requestID})` : '';
  const answer = status === undefined ? 'an error in its stream' : `${status}`;
  const words = safeText(error.apiMessage ?? error.message);
  return new PerdureError(code, `The ${to} answered ${answer}${request}: ${words}`, {
    provider: 'anthropic',
    cause: error,
    ...(status === undefined ? {} : { http_status: status }),
    ...(retryAfter === undefined ? {} : { retry_after_ms: retryAfter }),
  });
}

function chooseCode(error: APIError): ErrorCode {
  const { status, type } = error;
  if ((status === 400 || type === 'invalid_request_error') && TOO_LONG.test(error.apiMessage ?? error.message))
    return 'model_context_exceeded';
  const named = lookUp(BY_TYPE, type);
  if (named !== undefined) return named;
  if (status === undefined) return type === 'invalid_request_error' ? 'model_bad_request' : 'model_server_error';
  return codeByStatus(status);
}

function perdureError(code: ErrorCode, what: string, cause: unknown): PerdureError {
  return new PerdureError(code, what, { provider: 'anthropic', cause });
}
