/**
 * A conversation that no longer fits its model: the oldest messages are read as a summary. What was said stays where
 * it is, in logs and records; only what models read changes. No zod here.
 *
 * K1  The message that is being answered is always read as it is, also where messages around it are behind the summary.
 * K2  A tool call and its results are on the same side of the cut.
 */
import type { BaseMessage, UserMessage } from './messages.js';

/** What of a run's conversation is behind the last summary. */
export interface Compacted {
  /** Of the thread's messages, as the run was given them. */
  thread_messages: number;
  /** Of the run's own, from the first; that one, the user's, is read all the same. */
  run_messages: number;
}

/** What of a thread's record is behind its summary. */
export interface ThreadCompaction {
  summary: string;
  /** From this message on, all are read as they are. */
  from: number;
  /** A user's message before that which is read all the same: the rest of its turn is too long. */
  also?: number | undefined;
}

const HEADING =
  '[The conversation before this point, in short: it became too long to be read whole. This may include what has ' +
  'been done already for the message that follows.]';

export function summaryMessage(summary: string): UserMessage {
  return { role: 'user', content: `${HEADING}\n\n${summary}`, meta: { compacted: true } };
}

export function isSummary({ meta }: BaseMessage): boolean {
  return (meta as { compacted?: unknown } | null | undefined)?.compacted === true;
}

/** The run's own messages as its model reads them; of the thread's, what is left comes between the first two. */
export function ownMessages(
  transcript: readonly BaseMessage[],
  compacted: (Compacted & { summary: string }) | undefined,
): readonly BaseMessage[] {
  if (compacted === undefined) return transcript;
  const { summary, run_messages } = compacted;
  const first = run_messages > 0 ? transcript.slice(0, 1) : [];
  return [summaryMessage(summary), ...first, ...transcript.slice(Math.max(run_messages, first.length))];
}
