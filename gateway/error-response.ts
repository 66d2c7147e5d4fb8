/** From any error to what the caller may read of it: never a stack, a secret, an address or a vendor's text. */
import { ERROR_CODE_HEADER, ERRORS, isPerdureError, PerdureError } from '../contract/errors.js';
import type { ErrorCode } from '../contract/errors.js';
import type { ErrorBody } from './shapes/error-body.js';

/** Their messages are written for the caller. Of all others it reads the sentences below. */
const FOR_CALLERS: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'invalid_request',
  'input_too_large',
  'unknown_agent',
  'unknown_profile',
  'unknown_run',
  'unknown_thread',
  'thread_exists',
  'thread_busy',
  'thread_full',
  'thread_read_only',
  'unknown_message',
  'unknown_stored_agent',
  'agent_exists',
  'unknown_artefact',
  'link_refused',
  'unknown_route',
  'unauthenticated',
  'forbidden',
  'origin_refused',
  'method_not_allowed',
  'request_timeout',
  'idempotency_conflict',
  'unsupported_media_type',
  'rate_limited',
  'too_many_connections',
  'too_many_streams',
  'headers_too_large',
  'run_exists',
  'run_ended',
  'not_ready',
]);
const UNREACHABLE: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'server_unreachable',
  // The gateway is refused, not the caller.
  'server_refused',
  'database_unreachable',
  'storage_unreachable',
  'encryption_keys_unreachable',
]);
const UNREACHABLE_RETRY_MS = 2_000;

/** In whole seconds, as the header has it. */
export function retryAfter(ms: number): string {
  return String(Math.max(1, Math.ceil(ms / 1_000)));
}

/** Without what only the log may know. */
export function forCaller(error: unknown): PerdureError {
  if (isPerdureError(error) && FOR_CALLERS.has(error.code)) return error;
  if (isPerdureError(error) && UNREACHABLE.has(error.code)) {
    const retry_after_ms = UNREACHABLE_RETRY_MS;
    return new PerdureError('server_unreachable', 'the service behind the gateway gave no answer in time', {
      retry_after_ms,
      cause: error,
    });
  }
  return new PerdureError('internal', 'something went wrong on our side', { cause: error });
}

const NEXT_STEPS: Partial<Record<ErrorCode, string>> = {
  internal: 'Try again; if it lasts, report the request id.',
  server_unreachable: 'Try again as soon as the Retry-After header says.',
};

export function errorBody(error: PerdureError, requestId: string): ErrorBody {
  const { code, message, issues } = error;
  const { advice } = ERRORS[code];
  return {
    error: {
      code,
      message: message.endsWith(` ${advice}`) ? message.slice(0, -advice.length - 1) : message,
      ...(issues === undefined ? {} : { issues: issues.map(({ path, message: what }) => ({ path, message: what })) }),
      next_step: NEXT_STEPS[code] ?? advice,
      request_id: requestId,
    },
  };
}

export function errorStatus({ code }: PerdureError): number {
  return ERRORS[code].http_status;
}

export function errorResponse(error: PerdureError, body: object): Response {
  const headers = new Headers({ [ERROR_CODE_HEADER]: error.code });
  const { retry_after_ms } = error;
  if (retry_after_ms !== undefined) headers.set('retry-after', retryAfter(retry_after_ms));
  if (error.code === 'unauthenticated') headers.set('www-authenticate', 'Bearer');
  // What is left of a body that was refused would be read as the next request.
  if (error.code === 'input_too_large') headers.set('connection', 'close');
  return Response.json(body, { status: errorStatus(error), headers });
}
