/** Every change of what a client sees of a thread goes through here, and is counted: that is what deltas are made of. */
import type { ThreadCompaction } from '../../contract/compaction.js';
import { utf8Bytes } from '../../contract/sizes.js';
import { closeOpenCalls, contextOf, foldContext, foldResults, textOf } from '../../contract/thread-context.js';
import { turnRunId } from '../../contract/thread-ids.js';
import type { AgentMessage, AgentThreadStatus } from '../../contract/thread-records.js';
import type { SeedMessage } from '../../contract/seed-messages.js';
import { isSince2 } from '../patches.js';
import { declareTools } from './client-tools.js';
import type { Said, Thread, Turn } from './thread-state.js';
import { showUnseen } from './unseen-requests.js';

const TITLE_CHARACTERS = 80;

export function setStatus(thread: Thread, status: AgentThreadStatus): void {
  if (thread.status === status) return;
  thread.status = status;
  thread.changed.status = ++thread.counter;
}

export function setTitle(thread: Thread, title: string): void {
  thread.title_is_draft = false;
  if (thread.title === title) return;
  thread.title = title;
  thread.changed.title = ++thread.counter;
}

export function goalsChanged(thread: Thread): void {
  thread.changed.goals = ++thread.counter;
}

export function addMessage(thread: Thread, message: AgentMessage): void {
  foldContext(thread.context, message, thread.messages.length);
  thread.messages.push(message);
  thread.held_bytes += utf8Bytes(JSON.stringify(message));
  thread.counter += 1;
}

export function addSpoken(thread: Thread, { role, content }: SeedMessage): void {
  addMessage(thread, { role, content, status: 'completed', created: new Date().toISOString() });
}

/** A user's message is in the record from here on, and its answer is awaited. */
export function beginTurn(thread: Thread, said: Omit<Said, 'message'> & { message: SeedMessage }): Turn {
  const { message, goals = [], client_tools } = said;
  const text = textOf(message.content);
  if (client_tools !== undefined) declareTools(thread, client_tools);
  if (said.analysis_scope !== undefined) thread.analysis_scope = said.analysis_scope;
  // What a caller brings along of the calls before it is a part of the conversation before it.
  foldResults(thread.context, message.content, thread.messages.length);
  closeOpenCalls(thread.context, thread.messages.length);
  const { messages, digest, characters } = thread.context;
  const number = ++thread.turns;
  const turn: Turn = {
    number,
    run_id: turnRunId(thread.thread_id, number),
    input: text,
    goals,
    client_tools: thread.client_tools,
    prefix: { length: messages.length, digest, characters },
    message_sequence_num: thread.messages.length,
    ...(said.client_context === undefined ? {} : { client_context: said.client_context }),
    ...(thread.analysis_scope === undefined ? {} : { analysis_scope: thread.analysis_scope }),
    started: false,
  };
  const asOne = { ...message, content: [{ content_type: 'text' as const, text }] };
  addSpoken(thread, isSince2(thread.opened?.revision) ? message : asOne);
  showUnseen(thread, said.mark, turn.run_id);
  if (thread.title === null) {
    setTitle(thread, titleOf(text));
    thread.title_is_draft = thread.opened?.title_profile !== undefined;
  }
  for (const { goal_type, goal_data } of goals) {
    thread.goals.push({
      turn: number,
      goal_type,
      goal_data,
      status: 'pending',
      message_sequence_num: turn.message_sequence_num,
      created: new Date().toISOString(),
      concluded_at: null,
      achieve_tool_use_id: null,
    });
  }
  if (goals.length > 0) thread.held_bytes += utf8Bytes(JSON.stringify(goals));
  if (goals.length > 0) goalsChanged(thread);
  thread.turn = turn;
  setStatus(thread, 'roboto_turn');
  return turn;
}

/** Models read the conversation so from the next turn on; the messages stay. */
export function compactThread(thread: Thread, compaction: ThreadCompaction): void {
  thread.compaction = compaction;
  thread.context = contextOf(thread.messages, compaction, thread.context.between);
}

function titleOf(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > TITLE_CHARACTERS ? `${line.slice(0, TITLE_CHARACTERS - 1)}…` : line;
}
