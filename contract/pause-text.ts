/**
 * What a question or an approval says to whoever reads a thread, as one text. No zod here.
 *
 * T1  A call is shown as `render-call.ts` shows it: nothing that a model writes can look like something else.
 * T2  A call that is not shown whole cannot be decided by who sees only this: it comes without its digest.
 * T3  What travels from run to run is bounded, so that a notice of many pauses is never too large to be taken.
 */
import type { PauseAsks } from './awaits.js';
import { renderCall } from './render-call.js';
import { cutText } from './sizes.js';

/** Of a question or of arguments that a run tells of to those above it. */
export const TOLD_TEXT_BYTES = 8 * 1024;
/** So many of them are told with their texts in one notice: together far below what a notice may have. */
export const TOLD_AT_ONCE = 50;

export function questionText(question: string, choices: readonly string[] = []): string {
  return [question, ...choices.map((choice) => `- ${choice}`)].join('\n');
}

export function approvalText(name: string, args: string): string {
  return `May this call be made?\n${renderCall(name, args)}`;
}

interface Pausing {
  kind: 'clarification' | 'approval';
  question?: string;
  choices?: string[];
  calls: readonly { tool_call_id: string; name: string; arguments: string }[];
  digest?: string;
  expires_at?: number;
}

/**
 * For the thread above, however far up it is. With the digest goes the decision, so it goes only where all of the call
 * is seen: in this text, or in the thread's own record of the run (`isOwn`).
 */
export function toldAsks(
  { kind, question = '', choices, calls, digest, expires_at }: Pausing,
  isOwn: boolean,
): PauseAsks {
  const [call] = calls;
  const whole =
    kind === 'clarification' ? questionText(question, choices) : approvalText(call?.name ?? '', call?.arguments ?? '');
  const text = kind === 'clarification' ? cutText(whole, TOLD_TEXT_BYTES) : cutInside(whole);
  return {
    text,
    ...(call === undefined ? {} : { tool_call_id: call.tool_call_id }),
    ...(digest === undefined || !(isOwn || text === whole) ? {} : { digest }),
    ...(expires_at === undefined ? {} : { expires_at: new Date(expires_at).toISOString() }),
  };
}

export function toldAnswer(answer: string): string {
  return cutText(answer, TOLD_TEXT_BYTES);
}

/** The arguments are cut, never the name below them; and it says that there is more, and where. */
function cutInside(text: string): string {
  const end = text.lastIndexOf('\n');
  const head = text.slice(0, end);
  const cut = cutText(head, TOLD_TEXT_BYTES);
  if (cut === head) return text;
  return `${cut}\n(cut here: the log of the run that asks has the whole call, and that run takes the decision)${text.slice(end)}`;
}
