/** What a thread's header says of its open turn, put together with what the turn's run says itself. */
import type { ThreadHeader } from '../../contract/thread-commands.js';
import type { AgentThreadGoalRecord } from '../../contract/thread-records.js';
import type { AskedUses, TurnView } from './turn-view.js';

/** All that the thread has as pending are of the open turn, whose run may know more of them. */
export function withConcluded(
  goals: readonly AgentThreadGoalRecord[],
  concluded: ReturnType<TurnView['goals']>,
): AgentThreadGoalRecord[] {
  let n = 0;
  return goals.map((goal) => {
    const end = goal.status === 'pending' ? concluded.get(`goal_${++n}`) : undefined;
    return end === undefined ? goal : { ...goal, status: end.status, concluded_at: end.at };
  });
}

/** What the record shows of what the open turn waits for. */
export function askedIn({ pending, pauses, turn }: ThreadHeader): AskedUses {
  return {
    results: pending.filter((use) => use.run_id === turn?.run_id).map((use) => use.tool_use_id),
    pauses: pauses.flatMap(({ asked }) => (asked === undefined ? [] : [asked.tool_use_id])),
  };
}
