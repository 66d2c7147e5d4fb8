/** Heartbeats for as long as a call runs: they show that the worker lives, and bring the news of a cancel. */
import type { Context } from '@temporalio/activity';

const INTERVAL_MS = 400;

export interface Heartbeat {
  /** Kept by the server for the next attempt. */
  note(details: unknown): void;
  stop(): void;
}

export function startHeartbeat(context: Context): Heartbeat {
  let details: unknown = context.info.heartbeatDetails;
  const timer = setInterval(() => context.heartbeat(details), INTERVAL_MS);
  return {
    note(next) {
      details = next;
      context.heartbeat(details);
    },
    stop: () => clearInterval(timer),
  };
}

/** Why the signal aborted: someone canceled the work, or only this worker goes away. */
export function isCancelRequested(context: Context): boolean {
  return context.cancellationDetails?.cancelRequested === true;
}
