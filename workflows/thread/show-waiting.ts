/** Whose turn it is while a turn goes on, and a turn that is being stopped. */
import type { Cancellation } from '../../contract/run.js';
import type { AgentThreadStatus } from '../../contract/thread-records.js';
import { setStatus } from './change-thread.js';
import type { Thread } from './thread-state.js';

/** Whoever is asked something has the turn, whatever else is going on; unless the turn is being stopped. */
function waitingStatus({ pending, pauses, turn }: Thread): AgentThreadStatus {
  if (pending.length > 0) return 'client_tool_turn';
  const isAsking = turn?.cancellation === undefined && pauses.some((pause) => pause.asked !== undefined);
  return isAsking ? 'user_turn' : 'roboto_turn';
}

export function showWaiting(thread: Thread): void {
  setStatus(thread, waitingStatus(thread));
  if (thread.opened?.revision !== undefined) thread.page?.show();
}

/** The first reason stands. The run of the turn, if there is one. */
export function cancelTurn(thread: Thread, cancellation: Cancellation): string | undefined {
  if (thread.turn === undefined) return undefined;
  thread.turn.cancellation ??= cancellation;
  if (thread.pauses.some(({ asked }) => asked !== undefined)) showWaiting(thread);
  return thread.turn.run_id;
}
