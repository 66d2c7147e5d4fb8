/** From an error to Temporal's retry decision: the table in `contract/errors.ts` decides, a vendor's retry-after is honoured. */
import { ApplicationFailure } from '@temporalio/activity';
import { ERRORS, isPerdureError, safeMessage } from '../contract/errors.js';
import type { ErrorCode } from '../contract/errors.js';
import type { ModelFallback } from '../contract/model-chain.js';
import type { Failure } from '../contract/run.js';

interface AttemptNotes {
  fallbacks?: ModelFallback[];
  /** Instead of what the vendor asks for. */
  next_attempt_in_ms?: number;
}

/** `details` are the Failure, the attempt that threw it, and the changes of the model profile before it. */
export function toApplicationFailure(
  error: unknown,
  where: string,
  attempt: number,
  { fallbacks, next_attempt_in_ms }: AttemptNotes = {},
): ApplicationFailure {
  const code: ErrorCode = isPerdureError(error) ? error.code : 'internal';
  const known = isPerdureError(error) ? error : undefined;
  const message = error instanceof Error ? error.message : String(error);
  const retry = ERRORS[code].retry;
  const wait = next_attempt_in_ms ?? known?.retry_after_ms;
  const failure: Failure = {
    code,
    message: isCallersFault(code) ? message : safeMessage(code),
    debug_message: `${where}, attempt ${attempt}: ${message}`,
    retryable: retry,
    ...(known?.provider === undefined ? {} : { provider: known.provider }),
    ...(known?.http_status === undefined ? {} : { http_status: known.http_status }),
  };
  return ApplicationFailure.create({
    message: failure.debug_message,
    type: code,
    nonRetryable: !retry,
    details: [failure, attempt, ...(fallbacks === undefined ? [] : [fallbacks])],
    ...(retry && wait !== undefined ? { nextRetryDelay: wait } : {}),
    ...(error instanceof Error ? { cause: error } : {}),
  });
}

/** What is wrong with the request may be told to whoever made it. */
function isCallersFault(code: ErrorCode): boolean {
  return (
    code === 'invalid_request' || code === 'input_too_large' || code === 'unknown_agent' || code === 'unknown_profile'
  );
}
