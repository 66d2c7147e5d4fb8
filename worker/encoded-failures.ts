/**
 * The text and the stack of a failure go into a payload, which is encrypted, and not beside it. For a worker with
 * encryption keys: in its activities, and in the bundle that it runs. Readers understand both.
 *
 * What a reader of a run must understand without decrypting it stays plain: that the worker was asked too early, and
 * that it lacks a key or an object. These texts name ids and places, and nothing that was said.
 */
import { DefaultFailureConverter } from '@temporalio/common';
import type { FailureConverter } from '@temporalio/common';
import { isPerdureError } from '../contract/errors.js';
import { EARLY_EVENTS } from '../contract/names.js';
import { STORAGE_ERRORS } from '../contract/storage-errors.js';

const encoding = new DefaultFailureConverter({ encodeCommonAttributes: true });
const plain = new DefaultFailureConverter();

export const failureConverter: FailureConverter = {
  errorToFailure: (error, ...rest) => (isForReaders(error) ? plain : encoding).errorToFailure(error, ...rest),
  failureToError: (failure, ...rest) => encoding.failureToError(failure, ...rest),
};

function isForReaders(error: unknown): boolean {
  if (isPerdureError(error)) return STORAGE_ERRORS.includes(error.code);
  return error instanceof Error && error.message.startsWith(EARLY_EVENTS);
}
