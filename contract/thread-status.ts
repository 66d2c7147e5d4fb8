/** Whose turn it is in a thread, in words that belong to no wire format. No zod here. */
import type { OpenPause } from './thread-commands.js';
import type { AgentThreadStatus } from './thread-records.js';

/** With spaces for the underscores each reads as a sentence about the thread. */
export const THREAD_STATUSES = [
  'not_started',
  'working',
  'waiting_for_answer',
  'waiting_for_tools',
  'waiting_for_you',
  'goals_failed',
] as const;
type ThreadStatus = (typeof THREAD_STATUSES)[number];

const STATUS = {
  not_started: 'not_started',
  roboto_turn: 'working',
  client_tool_turn: 'waiting_for_tools',
  user_turn: 'waiting_for_you',
  goals_failed: 'goals_failed',
} as const satisfies Record<AgentThreadStatus, ThreadStatus>;

/** `pauses` are the questions and approvals that are open, where they are known. */
export function threadStatus({
  status,
  pauses = [],
}: {
  status: AgentThreadStatus;
  pauses?: readonly OpenPause[];
}): ThreadStatus {
  const word = STATUS[status];
  const isAsking = pauses.some(({ held }) => held !== true) && (word === 'working' || word === 'waiting_for_you');
  return isAsking ? 'waiting_for_answer' : word;
}

/** For people. */
export function statusInWords(thread: Parameters<typeof threadStatus>[0]): string {
  return threadStatus(thread).replaceAll('_', ' ');
}
