/** The goals of a turn: which are concluded, and by which tool use. No zod here. */
import type { EventOf } from './events.js';
import { achieveToolId } from './names.js';
import { toolUseId } from './thread-ids.js';
import type { TurnMessages } from './turn-messages.js';

type GoalEvent = EventOf<'goal_declared' | 'goal_achieved' | 'goal_failed'>;

export function foldGoal(turn: TurnMessages, event: GoalEvent): void {
  const { goal_id, at } = event;
  if (event.type === 'goal_declared') {
    let n = 1;
    while (turn.achievers.has(achieveToolId(event.goal_type, n))) n += 1;
    turn.achievers.set(achieveToolId(event.goal_type, n), goal_id);
    return;
  }
  const { tool_call_id, run_id } = event;
  const tool_use_id =
    tool_call_id === undefined ? turn.tries.get(goal_id) : toolUseId(turn.thread_id, run_id, tool_call_id);
  const status = event.type === 'goal_achieved' ? 'achieved' : 'failed';
  turn.goals.set(goal_id, { status, at, ...(tool_use_id === undefined ? {} : { tool_use_id }) });
}

export function foldTry(turn: TurnMessages, { name, run_id, tool_call_id = '' }: EventOf<'tool_requested'>): void {
  const goal = turn.achievers.get(name);
  if (goal !== undefined) turn.tries.set(goal, toolUseId(turn.thread_id, run_id, tool_call_id));
}
