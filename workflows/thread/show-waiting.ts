/** Whose turn it is while a turn goes on, and a turn that is being stopped. */
import type { Cancellation } from '../../contract/run.js';
import type { AgentThreadStatus } from '../../contract/thread-records.js';
import { setStatus } from './change-thread.js';
import { wantsLeave } from './hold-pauses.js';
import type { Thread } from './thread-state.js';

/** Whoever is asked something has the turn, whatever else is going on; unless the turn is being stopped. */
function waitingStatus(thread: Thread): AgentThreadStatus {
  const { pending, pauses, turn } = thread;
  if (pending.length > 0 && !wantsLeave(thread)) return 'client_tool_turn';
  const isAsking =
    turn?.cancellation === undefined && pauses.some((pause) => pause.asked !== undefined && pause.held !== true);
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
