/** What the Temporal client throws, in our words. */
import { QueryNotRegisteredError, WorkflowNotFoundError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { ERRORS, isErrorCode, isPerdureError, PerdureError } from '../contract/errors.js';
import { storageErrorIn } from '../contract/storage-errors.js';
import { grpcError, serverReason } from '../live/server-reason.js';

/** Codes of gRPC. */
const [INVALID_ARGUMENT, NOT_FOUND, PERMISSION_DENIED, UNIMPLEMENTED, UNAUTHENTICATED] = [3, 5, 7, 12, 16];
const REFUSALS: ReadonlySet<number> = new Set([
  INVALID_ARGUMENT,
  // Of a namespace.
  NOT_FOUND,
  PERMISSION_DENIED,
  UNIMPLEMENTED,
  UNAUTHENTICATED,
]);

export function explain(error: unknown, runId: string): Error {
  if (isPerdureError(error)) return error;
  const other = notOfTheWorkflow(error);
  if (other !== undefined) return other;
  if (error instanceof WorkflowNotFoundError) {
    // The second is said of an update that was on its way when the run ended.
    return /already completed|closing workflow/i.test(error.message)
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

/** What says nothing about the run or the thread itself: its storage, or the namespace. */
export function notOfTheWorkflow(error: unknown): PerdureError | undefined {
  if (isNoNamespace(error)) return noNamespace(error);
  return error instanceof QueryNotRegisteredError ? storageErrorIn(error.message, error) : undefined;
}

/** One sentence, whoever finds out: a run that may not be seen is answered like one that is not there. */
export function unknownRun(runId: string, cause?: unknown): PerdureError {
  return new PerdureError('unknown_run', `there is no run "${runId}"`, { cause });
}

/** Undefined where the server did answer. */
export function unreachable(error: unknown, about: string): PerdureError | undefined {
  const reason = serverReason(error);
  if (reason === undefined) return undefined;
  const cause = grpcError(error);
  if (cause?.code === INVALID_ARGUMENT) {
    return new PerdureError('invalid_request', `the Temporal server refuses it ${about}: ${cause.details}`, {
      cause: error,
    });
  }
  if (cause?.code === PERMISSION_DENIED || cause?.code === UNAUTHENTICATED)
    return new PerdureError('server_refused', `the Temporal server gave no answer ${about}: ${reason}`, {
      cause: error,
    });
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
  const cause = grpcError(error);
  if (cause === undefined) return isPerdureError(error) && !ERRORS[error.code].retry ? error : undefined;
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
