/** Why a thread does not do what it is told: errors of its updates, with a code that their senders know. */
import { ApplicationFailure } from '@temporalio/workflow';
import type { ErrorCode } from '../../contract/errors.js';
import { oversized } from '../../contract/sizes.js';
import type { Thread } from './thread-state.js';

export function refuseOversized({ thread_id }: Thread, command: unknown): void {
  const found = oversized(command);
  if (found === undefined) return;
  throw refusal('input_too_large', `thread ${thread_id} refused the command: ${found.field} ${found.message}`);
}

export function refuseDeleted(thread: Thread): void {
  if (thread.deleted) throw refusal('unknown_thread', `thread ${thread.thread_id} was deleted`);
}

export function refusal(code: ErrorCode, message: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(message, code);
}
