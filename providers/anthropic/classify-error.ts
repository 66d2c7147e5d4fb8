/**
 * What the SDK throws, as our errors. Whether a code is retried is in contract/errors.ts; here it is only chosen.
 * The type that the vendor names comes first: an error in the middle of a stream has no status.
 */
import { APIConnectionError, APIConnectionTimeoutError, APIError } from '@anthropic-ai/sdk';
import { ERRORS, type ErrorCode, type PerdureError } from '../../contract/errors.js';
import { causeOf, codeByStatus, isTimeout, lookUp, vendorError } from '../describe-error.js';
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
  const failed = (code: ErrorCode, what: string) =>
    vendorError(code, what, error, { ...context, provider: 'anthropic' });
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
  const { status: http_status } = error;
  const code = chooseCode(error);
  const retry_after_ms = ERRORS[code].retry ? retryAfterMs(error.headers) : undefined;
  const request = error.requestID ? ` (request ${error.requestID})` : '';
  const answer = http_status === undefined ? 'an error in its stream' : `${http_status}`;
  const what = `The ${to} answered ${answer}${request}: ${error.apiMessage ?? error.message}`;
  return vendorError(code, what, error, { ...context, provider: 'anthropic' }, { http_status, retry_after_ms });
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
