/**
 * The envelope of `/v1/ai`, as the published Python client of the threads API reads it (`shared/roboto-http.md`): what
 * was asked for is in `data`, and an error has a code of that client's and a message, and no further key, at which it
 * would crash.
 */
import { z } from 'zod';
import { ERRORS } from '../contract/errors.js';
import type { ErrorCode, PerdureError } from '../contract/errors.js';
import { errorBody } from './error-response.js';

export function hasEnvelope(path: string): boolean {
  return path.startsWith('/v1/ai/');
}

export function data(value: unknown, status = 200): Response {
  return Response.json({ data: value }, { status });
}

export function dataPage(items: readonly unknown[], nextToken: string | null): Response {
  return data({ items, next_token: nextToken });
}

/** For the description of a route. */
export function dataOf<T extends z.ZodType>(schema: T) {
  return z.strictObject({ data: schema });
}

export function dataPageOf<T extends z.ZodType>(item: T) {
  return dataOf(z.strictObject({ items: z.array(item), next_token: z.string().nullable() }));
}

export const EnvelopeError = z.strictObject({
  error: z.strictObject({ error_code: z.string(), message: z.string() }),
});
type EnvelopeError = z.infer<typeof EnvelopeError>;

/** The names of that client's exceptions; those of 0.47.0 too, but for the one that only newer ones have. */
const BY_CODE: Partial<Record<ErrorCode, string>> = {
  thread_read_only: 'RobotoThreadReadOnlyException',
  forbidden: 'RobotoUnauthorizedException',
  origin_refused: 'RobotoUnauthorizedException',
};
const BY_STATUS: Readonly<Record<number, string>> = {
  401: 'RobotoUnauthorizedException',
  404: 'RobotoNotFoundException',
  409: 'RobotoConflictException',
  429: 'RobotoLimitExceededException',
  501: 'RobotoNotImplementedException',
  503: 'RobotoServiceUnavailableException',
};

export function envelopeError(error: PerdureError, requestId: string): EnvelopeError {
  const { message, next_step } = errorBody(error, requestId).error;
  const status = ERRORS[error.code].http_status;
  const error_code =
    BY_CODE[error.code] ??
    BY_STATUS[status] ??
    (status < 500 ? 'RobotoInvalidRequestException' : 'RobotoInternalException');
  return { error: { error_code, message: next_step === undefined ? message : `${message} ${next_step}` } };
}
