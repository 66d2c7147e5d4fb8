/** From an error to Temporal's retry decision: the table in `contract/errors.ts` decides, a vendor's retry-after is honoured. */
import { ApplicationFailure } from '@temporalio/activity';
import { ERRORS, isPerdureError, safeMessage } from '../contract/errors.js';
import type { ErrorCode, PerdureError } from '../contract/errors.js';
import type { ModelFallback } from '../contract/model-chain.js';
import type { Failure } from '../contract/run.js';
import { withoutSecrets } from './environment.js';
import { debugMessage, failedUnexpectedly, isUnexpected } from './thrown.js';

interface AttemptNotes {
  fallbacks?: ModelFallback[];
  /** Instead of what the vendor asks for. */
  next_attempt_in_ms?: number;
}

/**
 * `details` are the Failure, the attempt that threw it, and the changes of the model profile before it. What was thrown
 * unexpectedly is in the Failure's debug message alone: the failure that Temporal shows and keeps has no cause.
 */
export function toApplicationFailure(
  error: unknown,
  where: string,
  attempt: number,
  { fallbacks, next_attempt_in_ms }: AttemptNotes = {},
): ApplicationFailure {
  const known = isPerdureError(error) ? error : undefined;
  const code: ErrorCode = known?.code ?? 'internal';
  const told = withoutSecrets(known?.message ?? `${failedUnexpectedly('it', error)}.`);
  const retry = ERRORS[code].retry;
  const wait = next_attempt_in_ms ?? known?.retry_after_ms;
  const which = `${where}, attempt ${attempt}`;
  const failure: Failure = {
    code,
    message: isCallersFault(code) ? told : safeMessage(code),
    debug_message: `${which}: ${known === undefined ? debugMessage(error) : `${told}${causeOf(known)}`}`,
    retryable: retry,
    ...(known?.provider === undefined ? {} : { provider: known.provider }),
    ...(known?.http_status === undefined ? {} : { http_status: known.http_status }),
  };
  return ApplicationFailure.create({
    message: `${which}: ${told}`,
    type: code,
    nonRetryable: !retry,
    details: [failure, attempt, ...(fallbacks === undefined ? [] : [fallbacks])],
    ...(retry && wait !== undefined ? { nextRetryDelay: wait } : {}),
  });
}

/** What a vendor's SDK threw is in the message already. */
function causeOf({ provider, cause }: PerdureError): string {
  return provider !== undefined || cause === undefined || !isUnexpected(cause)
    ? ''
    : `\ncaused by: ${debugMessage(cause)}`;
}

/** What is wrong with the request may be told to whoever made it. */
function isCallersFault(code: ErrorCode): boolean {
  return (
    code === 'invalid_request' || code === 'input_too_large' || code === 'unknown_agent' || code === 'unknown_profile'
  );
}
