/** What a thread's header says of its open turn, put together with what the turn's run says itself. */
import { CLIENT_TOOL_NAME_PREFIX } from '../../contract/ids.js';
import type { ThreadHeader } from '../../contract/thread-commands.js';
import type { ThreadView } from '../../contract/thread-delta.js';
import type { AgentMessage, AgentThreadGoalRecord, AgentToolUseContent } from '../../contract/thread-records.js';
import type { TurnView } from './turn-view.js';

/** All that the thread has as pending are of the open turn, whose run may know more of them. */
export function withConcluded(
  goals: readonly AgentThreadGoalRecord[],
  concluded: ReturnType<TurnView['goals']>,
): AgentThreadGoalRecord[] {
  let n = 0;
  return goals.map((goal) => {
    const end = goal.status === 'pending' ? concluded.get(`goal_${++n}`) : undefined;
    if (end === undefined) return goal;
    const { status, at, tool_use_id = null } = end;
    return { ...goal, status, concluded_at: at, achieve_tool_use_id: tool_use_id };
  });
}

/**
 * Whether the messages of the open turn show what it waits for. A client runs each of its tools that they have without a
 * result: so they must have all that it is to run, and the results of those that it is not, such as a denial.
 */
export function isShown(header: ThreadHeader, messages: readonly AgentMessage[]): boolean {
  const { status, turn, pending, given, pauses } = header;
  if (turn === undefined) return true;
  const blocks = messages.flatMap(({ content }) => content);
  if (status === 'user_turn') {
    const asking = blocks.flatMap((block) => (block.content_type === 'text' ? (block.asks?.tool_use_id ?? []) : []));
    const asked = pauses.flatMap((pause) => (pause.held === true ? [] : (pause.asked?.tool_use_id ?? [])));
    return asked.every((id) => asking.includes(id));
  }
  if (status !== 'client_tool_turn') return true;
  const wanted = pending.filter(({ run_id }) => run_id === turn.run_id).map(({ tool_use_id }) => tool_use_id);
  const results = blocks.flatMap((block) => (block.content_type === 'tool_result' ? [block.tool_use_id] : []));
  const open = blocks.flatMap((block) =>
    block.content_type === 'tool_use' && isClients(block) && !results.includes(block.tool_use_id)
      ? [block.tool_use_id]
      : [],
  );
  const isKnown = (id: string) => given === undefined || given.includes(id) || wanted.includes(id);
  return wanted.every((id) => open.includes(id)) && open.every(isKnown);
}

function isClients({ tool_name }: AgentToolUseContent): boolean {
  return tool_name.startsWith(CLIENT_TOOL_NAME_PREFIX);
}

/**
 * Whoever has the turn must see what for. Where the run has not said it yet, or cannot be read now, the agent has the turn
 * still, and the next who asks is told of the change.
 */
export function toldStatus(
  header: ThreadHeader,
  messages: readonly AgentMessage[],
): Pick<ThreadView, 'status' | 'counter' | 'changed'> {
  const { status, counter, changed } = header;
  if (isShown(header, messages)) return { status, counter, changed };
  return {
    status: 'roboto_turn',
    counter: Math.min(counter, changed.status - 1),
    changed: { ...changed, status: 0 },
  };
}
