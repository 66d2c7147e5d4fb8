/** What the Temporal client throws, in our words. */
import { WorkflowNotFoundError, isGrpcServiceError } from '@temporalio/client';
import { isPerdureError, PerdureError } from '../contract/errors.js';

/** grpc.status.INVALID_ARGUMENT */
const INVALID_ARGUMENT = 3;

export function explain(error: unknown, runId: string): Error {
  if (isPerdureError(error)) return error;
  if (error instanceof WorkflowNotFoundError) {
    return /already completed/i.test(error.message)
      ? new PerdureError('run_ended', `run ${runId} has ended`, { cause: error })
      : unknownRun(runId, error);
  }
  if (error instanceof Error && error.name === 'WorkflowUpdateFailedError') {
    const cause = error.cause instanceof Error ? error.cause.message : error.message;
    return new PerdureError('invalid_request', `run ${runId} refused the command: ${cause}`, { cause: error });
  }
  return unreachable(error, `for run ${runId}`) ?? (error instanceof Error ? error : new Error(String(error)));
}

/** One sentence, whoever finds out: a run that may not be seen is answered like one that is not there. */
export function unknownRun(runId: string, cause?: unknown): PerdureError {
  return new PerdureError('unknown_run', `there is no run "${runId}"`, { cause });
}

/** Undefined where the server did answer. */
export function unreachable(error: unknown, about: string): PerdureError | undefined {
  if (!isGrpcServiceError(error) && !(error instanceof Error && error.name === 'ServiceError')) return undefined;
  const cause = isGrpcServiceError(error) ? error : error.cause;
  if (isGrpcServiceError(cause) && cause.code === INVALID_ARGUMENT) {
    return new PerdureError('invalid_request', `the Temporal server refuses it ${about}: ${cause.details}`, {
      cause: error,
    });
  }
  const what = `the Temporal server or its workers gave no answer ${about}: ${(error as Error).message}`;
  return new PerdureError('server_unreachable', what, { cause: error });
}
