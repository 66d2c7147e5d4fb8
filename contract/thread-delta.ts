/**
 * What changed in a thread since a token was given. No zod here: pure, so that it can be tested to the last case.
 *
 * D1  The token says what its holder has: a counter for title, status and goals; and for the messages, which only grow,
 *     the last one that was sent and how much of it. Nobody else needs to remember anything, so tokens survive restarts.
 *     What the thread held then is final. What was shown of the open turn is not, and the digest is of all of that: the
 *     turn may be lost, and another one may come to the same words at the same place.
 * D2  Deltas applied one after another, from any token on, give the record.
 * D3  A reader of another process may see less of a generating message than was sent already: then nothing is sent
 *     until it has caught up. Text that turns out to differ from what was sent is replaced, with a mark.
 */
import { digestOf } from './digest.js';
import type { AgentMessage, AgentThreadDelta, AgentThreadGoalRecord, AgentThreadStatus } from './thread-records.js';
import { append } from './turn-messages.js';

/** How much of the messages somebody has: all before `index`, and of that one `blocks` blocks, `chars` of the last text. */
export interface SentMessages {
  index: number;
  /** The first that was not final: of the turn that was going on, or the last one itself. */
  base: number;
  blocks: number;
  /** Of the last block, where it is a text; else 0. */
  chars: number;
  status: string;
  /** Of what was sent from `base` on. */
  digest: string;
}

export interface ThreadPosition {
  counter: number;
  /** How many goals were concluded in what was sent: those of the open turn are so before the thread knows. */
  concluded?: number;
  /** Undefined: there was no message yet. */
  sent?: SentMessages;
}

export interface ThreadFields {
  status: AgentThreadStatus;
  title: string | null;
  goals: AgentThreadGoalRecord[];
}

/** A thread as it is now, with the counter at which each field last changed. */
export interface ThreadView extends ThreadFields {
  counter: number;
  changed: Record<keyof ThreadFields, number>;
  /** Index of the first message in `messages`: those before it are known to whoever asks. */
  from: number;
  messages: readonly AgentMessage[];
  /** How many messages the thread itself holds; those after them are shown of the turn that is going on. */
  stored: number;
  /** A turn is going on: messages may be about to come that this view does not show yet. */
  open: boolean;
}

export type Delta = Omit<AgentThreadDelta, 'continuation_token'>;

/** All of it, for somebody who has nothing. */
export function positionOf(view: ThreadView): ThreadPosition {
  const last = view.messages.at(-1);
  const place = { counter: view.counter, concluded: concludedOf(view) };
  return last === undefined ? place : { ...place, sent: sentOf(view, last) };
}

function concludedOf({ goals }: ThreadView): number {
  return goals.filter(({ status }) => status !== 'pending').length;
}

/** Undefined: it takes messages that come before the first one of this view. */
export function deltaSince(
  view: ThreadView,
  position: ThreadPosition,
): { delta: Delta; position: ThreadPosition } | undefined {
  const isNew = (field: keyof ThreadFields) => view.changed[field] > position.counter;
  const fields = {
    status: isNew('status') ? view.status : null,
    title: isNew('title') ? view.title : null,
    goals: isNew('goals') || concludedOf(view) > (position.concluded ?? Infinity) ? view.goals : null,
  };
  const { messages, replaces_from, isBehind } = newMessages(view, position.sent);
  if (replaces_from !== undefined && replaces_from < view.from) return undefined;
  const now = positionOf(view);
  return {
    delta: { messages_by_idx: messages, ...fields, ...(replaces_from === undefined ? {} : { replaces_from }) },
    position: isBehind && position.sent !== undefined ? { ...now, sent: position.sent } : now,
  };
}

interface NewMessages {
  messages: Record<string, AgentMessage>;
  replaces_from?: number;
  isBehind?: true;
}

function newMessages(view: ThreadView, sent: SentMessages | undefined): NewMessages {
  if (sent === undefined) return { messages: byIndex(view, 0) };
  const message = view.messages[sent.index - view.from];
  // The turn that they saw is still going on, and this view may know less of it than theirs did.
  const goesOn = view.open && view.stored <= sent.base;
  const rest = message === undefined ? 'unknown' : restOf(view, message, sent);
  if (rest === 'unknown' && goesOn && (message === undefined || message.status === 'generating'))
    return { messages: {}, isBehind: true };
  if (message === undefined || rest === 'unknown' || rest === 'other') {
    const replaces_from = Math.min(sent.base, view.stored);
    return { messages: byIndex(view, replaces_from), replaces_from };
  }
  const messages = byIndex(view, sent.index + 1);
  if (rest.length > 0 || message.status !== sent.status) {
    return { messages: { [sent.index]: { ...message, content: rest }, ...messages } };
  }
  return { messages };
}

/** The blocks that are still to be sent; `unknown` where the message is shorter than what was sent. */
function restOf(
  view: ThreadView,
  message: AgentMessage,
  sent: SentMessages,
): AgentMessage['content'] | 'unknown' | 'other' {
  const { content } = message;
  if (content.length < sent.blocks) return 'unknown';
  const last = content[sent.blocks - 1];
  const text = last?.content_type === 'text' ? last.text : '';
  if (text.length < sent.chars) return 'unknown';
  if (digestOfSent(view, sent) !== sent.digest) return 'other';
  const more = text.slice(sent.chars);
  const blocks = content.slice(sent.blocks);
  return more === '' ? blocks : [{ content_type: 'text', text: more }, ...blocks];
}

function sentOf(view: ThreadView, message: AgentMessage): SentMessages {
  const index = view.from + view.messages.length - 1;
  const last = message.content.at(-1);
  const place = {
    index,
    base: Math.min(index, view.stored),
    blocks: message.content.length,
    chars: last?.content_type === 'text' ? last.text.length : 0,
  };
  return { ...place, status: message.status, digest: digestOfSent(view, place) };
}

type Place = Pick<SentMessages, 'index' | 'base' | 'blocks' | 'chars'>;

function digestOfSent({ from, messages }: ThreadView, { index, base, blocks, chars }: Place): string {
  const shown = messages.slice(Math.max(base - from, 0), index - from + 1);
  const parts = shown.map(({ role, content }, n) => [
    role,
    n + base === index ? partOf(content, blocks, chars) : content,
  ]);
  return digestOf(JSON.stringify(parts));
}

function partOf(content: AgentMessage['content'], blocks: number, chars: number): AgentMessage['content'] {
  const sent = content.slice(0, blocks);
  const last = sent.at(-1);
  if (last?.content_type === 'text') sent[blocks - 1] = { ...last, text: last.text.slice(0, chars) };
  return sent;
}

function byIndex({ messages, from }: ThreadView, first: number): Record<string, AgentMessage> {
  return Object.fromEntries(
    messages.flatMap((message, n) => (from + n < first ? [] : [[String(from + n), message] as const])),
  );
}

/** The consumer's side: what it holds after a delta. */
export function applyDelta(
  held: ThreadFields & { messages: readonly AgentMessage[] },
  delta: Delta,
): ThreadFields & { messages: AgentMessage[] } {
  const messages = held.messages.slice(0, delta.replaces_from).map((message) => ({ ...message }));
  for (const [index, news] of Object.entries(delta.messages_by_idx)) {
    const known = messages[Number(index)];
    if (known === undefined) {
      messages[Number(index)] = { ...news, content: [...news.content] };
      continue;
    }
    const grown: AgentMessage = { ...known, status: news.status, content: [...known.content] };
    for (const block of news.content) append(grown, block);
    messages[Number(index)] = grown;
  }
  return {
    status: delta.status ?? held.status,
    title: delta.title ?? held.title,
    goals: delta.goals ?? held.goals,
    messages,
  };
}
