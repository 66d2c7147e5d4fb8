/**
 * What the SDK throws, as our errors. It gives a status and the vendor's JSON as a text, and hands on what `fetch`
 * throws; how long to wait is in the JSON.
 */
import { ApiError } from '@google/genai';
import { z } from 'zod';
import { ERRORS, type ErrorCode, type PerdureError } from '../../contract/errors.js';
import { causeOf, codeByStatus, codesOf, isTimeout, vendorError } from '../describe-error.js';
import type { ErrorContext } from '../describe-error.js';

const Reply = z.object({
  error: z.object({
    message: z.string().nullish(),
    status: z.string().nullish(),
    details: z
      .array(
        z.looseObject({
          '@type': z.string().nullish(),
          reason: z.unknown().optional(),
          retryDelay: z.unknown().optional(),
        }),
      )
      .nullish(),
  }),
});
type VendorError = z.infer<typeof Reply>['error'];

const TOO_LONG = /token count .{0,40}exceeds|exceeds the maximum number of tokens|context (length|window)/i;

export function classifyError(error: unknown, context: ErrorContext): PerdureError {
  const failed = (code: ErrorCode, what: string) => vendorError(code, what, error, { ...context, provider: 'gemini' });
  const to = `model ${context.model} at ${context.origin}`;
  if (error instanceof ApiError) return classifyReply(error, to, context);
  if (isTimeout(error)) return failed('model_timeout', `The request to ${to} failed: ${causeOf(error)}`);
  if (context.phase === 'stream') return failed('model_stream_cut', `The stream of ${to} broke off: ${causeOf(error)}`);
  if (codesOf(error).length > 0) return failed('model_network', `The request to ${to} failed: ${causeOf(error)}`);
  return failed('internal', `The request to ${to} was not sent: ${causeOf(error)}`);
}

function classifyReply(error: ApiError, to: string, context: ErrorContext): PerdureError {
  const { status: http_status } = error;
  const vendor = readReply(error.message);
  const code = chooseCode(http_status, vendor);
  const retry_after_ms = ERRORS[code].retry ? retryDelayMs(vendor) : undefined;
  const answer = context.phase === 'stream' ? `${http_status} in its stream` : `${http_status}`;
  const what = `The ${to} answered ${answer}: ${vendor.message ?? error.message}`;
  return vendorError(code, what, error, { ...context, provider: 'gemini' }, { http_status, retry_after_ms });
}

function chooseCode(status: number, { message, details }: VendorError): ErrorCode {
  // A wrong key is a 400 here.
  if (details?.some(({ reason }) => reason === 'API_KEY_INVALID')) return 'model_unauthorized';
  if (status === 400 && TOO_LONG.test(message ?? '')) return 'model_context_exceeded';
  return codeByStatus(status);
}

/** In a stream the SDK puts words of its own before the JSON. */
function readReply(text: string): VendorError {
  try {
    return Reply.parse(JSON.parse(text.slice(text.indexOf('{')))).error;
  } catch {
    return {};
  }
}

function retryDelayMs({ details }: VendorError): number | undefined {
  const delay = details?.find((detail) => detail['@type']?.endsWith('RetryInfo'))?.retryDelay;
  const seconds = typeof delay === 'string' ? /^(\d+(?:\.\d+)?)s$/.exec(delay)?.[1] : undefined;
  return seconds === undefined ? undefined : Math.ceil(Number(seconds) * 1000);
}
