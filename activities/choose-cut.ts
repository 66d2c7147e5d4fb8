/** How much of a conversation goes behind a summary. Pure. */
import { isSummary } from '../contract/compaction.js';
import type { Compacted } from '../contract/compaction.js';
import type { BaseMessage } from '../contract/messages.js';

export interface Cut {
  /** Messages before this index are replaced, but for the user's that is being answered. */
  at: number;
  /** The index of that one. */
  user: number;
}

/**
 * The smallest cut after which the rest has `keep` characters at most; where there is none, as much as fits in `most`,
 * so that the model still reads the last results. Of earlier turns a cut leaves whole ones, of the last one whole steps.
 * Undefined: nothing would be gained.
 */
export function chooseCut(messages: readonly BaseMessage[], keep: number, most: number): Cut | undefined {
  const user = messages.findLastIndex(
    (message) => message.role === 'user' && !isHidden(message) && !isSummary(message),
  );
  const sizes = messages.map((message) => JSON.stringify(message).length);
  const rest = (at: number) =>
    sizes.slice(at).reduce((sum, size) => sum + size, at > user && user >= 0 ? (sizes[user] ?? 0) : 0);
  const cuts = Array.from({ length: messages.length }, (_, n) => n + 1).filter((at) => isBoundary(messages, at, user));
  const useful = cuts.filter((at) => messages.slice(0, at).some((message, n) => n !== user && !isSummary(message)));
  const at = useful.find((cut) => rest(cut) <= keep) ?? useful.find((cut) => rest(cut) <= most) ?? useful.at(-1);
  return at === undefined ? undefined : { at, user };
}

function isBoundary(messages: readonly BaseMessage[], at: number, user: number): boolean {
  const role = messages[at]?.role;
  if (at <= user) return role === 'user';
  return role !== 'tool' && messages[at - 1]?.role !== 'reasoning';
}

function isHidden({ meta }: BaseMessage): boolean {
  return (meta as { hidden?: unknown } | null | undefined)?.hidden === true;
}

/** The same cut in terms of the thread and of the run. `before` is what was behind a summary already. */
export function behindCut(at: number, before: Compacted | undefined, threadLength: number): Compacted {
  const { thread_messages = 0, run_messages = 0 } = before ?? {};
  const summaries = before === undefined ? 0 : 1;
  const own = at - summaries - (threadLength - thread_messages);
  if (own <= 0) return { thread_messages: thread_messages + at - summaries, run_messages };
  return { thread_messages: threadLength, run_messages: run_messages > 1 ? run_messages + own - 1 : own };
}
