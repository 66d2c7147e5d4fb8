/** Why the Temporal server did not do what it was asked, in a few words; with `--debug`, also as its client says it. */
import { serverReason } from '../live/server-reason.js';
import { messageOf } from './command-error.js';
import { isDebug } from './debug.js';

export function whyNot(error: unknown): string {
  const reason = serverReason(error);
  if (reason === undefined) return messageOf(error);
  return isDebug() ? `${reason} [${messagesOf(error).join(': ')}]` : reason;
}

function messagesOf(error: unknown): string[] {
  return error instanceof Error ? [error.message, ...messagesOf(error.cause)] : [];
}
