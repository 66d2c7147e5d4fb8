/** What the Temporal client throws, in our words. */
import { QueryNotRegisteredError, WorkflowNotFoundError, isGrpcServiceError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { ERRORS, isErrorCode, isPerdureError, PerdureError } from '../contract/errors.js';
import { storageErrorIn } from '../contract/storage-errors.js';
import { serverReason } from './server-reason.js';

/** Codes of gRPC. */
const INVALID_ARGUMENT = 3;
/** Invalid argument, not found (of a namespace), permission denied, unimplemented, unauthenticated. */
const REFUSALS: ReadonlySet<number> = new Set([INVALID_ARGUMENT, 5, 7, 12, 16]);

export function explain(error: unknown, runId: string): Error {
  if (isPerdureError(error)) return error;
  const stored = error instanceof QueryNotRegisteredError ? storageErrorIn(error.message, error) : undefined;
  if (stored !== undefined) return stored;
  if (isNoNamespace(error)) return noNamespace(error);
  if (error instanceof WorkflowNotFoundError) {
    return /already completed/i.test(error.message)
      ? new PerdureError('run_ended', `run ${runId} has ended`, { cause: error })
      : unknownRun(runId, error);
  }
  if (error instanceof Error && error.name === 'WorkflowUpdateFailedError') {
    const cause = error.cause instanceof Error ? error.cause.message : error.message;
    const type = error.cause instanceof ApplicationFailure ? error.cause.type : undefined;
    return new PerdureError(
      isErrorCode(type) ? type : 'invalid_request',
      `run ${runId} refused the command: ${cause}`,
      { cause: error },
    );
  }
  return unreachable(error, `for run ${runId}`) ?? (error instanceof Error ? error : new Error(String(error)));
}

/** One sentence, whoever finds out: a run that may not be seen is answered like one that is not there. */
export function unknownRun(runId: string, cause?: unknown): PerdureError {
  return new PerdureError('unknown_run', `there is no run "${runId}"`, { cause });
}

/** Undefined where the server did answer. */
export function unreachable(error: unknown, about: string): PerdureError | undefined {
  const reason = serverReason(error);
  if (reason === undefined) return undefined;
  const cause = isGrpcServiceError(error) ? error : (error as Error).cause;
  if (isGrpcServiceError(cause) && cause.code === INVALID_ARGUMENT) {
    return new PerdureError('invalid_request', `the Temporal server refuses it ${about}: ${cause.details}`, {
      cause: error,
    });
  }
  const what = `the Temporal server or its workers gave no answer ${about}: ${reason}`;
  return new PerdureError('server_unreachable', what, { cause: error });
}

/**
 * Asking again would not help: the server refuses this client, there is no such namespace, or what has the id is no
 * run. Undefined for all that may pass.
 */
export function permanent(error: unknown, runId: string): PerdureError | undefined {
  if (error instanceof QueryNotRegisteredError) {
    const stored = storageErrorIn(error.message, error);
    if (stored !== undefined) return ERRORS[stored.code].retry ? undefined : stored;
    return unknownRun(runId, error);
  }
  if (isNoNamespace(error)) return noNamespace(error);
  const cause = isGrpcServiceError(error) ? error : (error as { cause?: unknown } | undefined)?.cause;
  if (!isGrpcServiceError(cause)) return isPerdureError(error) && !ERRORS[error.code].retry ? error : undefined;
  if (!REFUSALS.has(cause.code)) return undefined;
  return new PerdureError(
    'server_refused',
    `the Temporal server refuses to let run ${runId} be read: ${cause.details}`,
    {
      cause: error,
    },
  );
}

function isNoNamespace(error: unknown): error is Error {
  return error instanceof Error && error.name === 'NamespaceNotFoundError';
}

function noNamespace(cause: Error): PerdureError {
  return new PerdureError('server_refused', `the Temporal server says: ${cause.message}`, { cause });
}
