/** From what was thrown to a Failure: the run's end is always explained, whatever broke. */
import { ActivityFailure, ApplicationFailure, TimeoutFailure } from '@temporalio/workflow';
import { ERRORS, isErrorCode, safeMessage } from '../contract/errors.js';
import type { ErrorCode } from '../contract/errors.js';
import type { Failure } from '../contract/run.js';
import { toolFailure } from '../contract/tool-failure.js';
import type { ToolFailure } from '../contract/tools.js';

export function failure(code: ErrorCode, debugMessage: string): Failure {
  return { code, message: safeMessage(code), debug_message: debugMessage, retryable: ERRORS[code].retry };
}

/** What Temporal shows of a run or thread that failed. Of what nobody expected, the debug message alone holds the words. */
export function engineMessage({ code, message, debug_message }: Failure): string {
  return code === 'internal' ? message : (debug_message.split('\ncaused by:')[0] ?? message);
}

/** A call that broke where its own failure would have been returned: the model is told that, and `agent_debug` why. */
export function brokenCall(what: string, error: unknown): { failure: ToolFailure; debug_message: string } {
  const { code, debug_message } = failureOf(error);
  const kind = code === 'internal' ? '' : ` (${code})`;
  return { failure: toolFailure('internal', `${what} failed unexpectedly${kind}.`), debug_message };
}

export function failureOf(error: unknown): Failure {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  if (cause instanceof ApplicationFailure) {
    const details = cause.details?.[0];
    if (isFailure(details)) return details;
    return failure(isErrorCode(cause.type) ? cause.type : 'internal', cause.message);
  }
  const where =
    error instanceof ActivityFailure ? `${error.activityType} (activity ${error.activityId ?? '?'})` : 'the run';
  if (cause instanceof TimeoutFailure) {
    return failure('model_timeout', `${where} timed out (${cause.timeoutType}) on its last attempt`);
  }
  return failure('internal', `${where} failed: ${cause instanceof Error ? cause.message : String(cause)}`);
}

function isFailure(value: unknown): value is Failure {
  const given = value as Partial<Failure> | undefined;
  return (
    typeof given?.code === 'string' && typeof given.message === 'string' && typeof given.debug_message === 'string'
  );
}
