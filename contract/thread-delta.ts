/**
 * What changed in a thread since a token was given. No zod here: pure, so that it can be tested to the last case.
 *
 * D1  The token says what its holder has: a counter for title, status and goals; and for the messages, which only grow,
 *     the last one that was sent and how much of it. Nobody else needs to remember anything, so tokens survive restarts.
 * D2  Deltas applied one after another, from any token on, give the record.
 * D3  A reader of another process may see less of a generating message than was sent already: then nothing is sent
 *     until it has caught up. Text that turns out to differ from what was sent is replaced, with a mark.
 */
import { digestOf } from './digest.js';
import { append } from './thread-projection.js';
import type { AgentMessage, AgentThreadDelta, AgentThreadGoalRecord, AgentThreadStatus } from './thread-records.js';

/** How much of the messages somebody has: all before `index`, and of that one `blocks` blocks, `chars` of the last text. */
export interface SentMessages {
  index: number;
  blocks: number;
  /** Of the last block, where it is a text; else 0. */
  chars: number;
  status: string;
  /** Of what was sent of that message. */
  digest: string;
}

export interface ThreadPosition {
  counter: number;
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
  if (last === undefined) return { counter: view.counter };
  return { counter: view.counter, sent: sentOf(last, view.from + view.messages.length - 1) };
}

/** Undefined: only all messages will do, and this view does not begin at the first one. */
export function deltaSince(
  view: ThreadView,
  position: ThreadPosition,
): { delta: Delta; position: ThreadPosition } | undefined {
  const isNew = (field: keyof ThreadFields) => view.changed[field] > position.counter;
  const fields = {
    status: isNew('status') ? view.status : null,
    title: isNew('title') ? view.title : null,
    goals: isNew('goals') ? view.goals : null,
  };
  const { messages, replaces_from, isBehind } = newMessages(view, position.sent);
  if (replaces_from === 0 && view.from > 0) return undefined;
  const now = positionOf(view);
  return {
    delta: { messages_by_idx: messages, ...fields, ...(replaces_from === undefined ? {} : { replaces_from }) },
    position: isBehind && position.sent !== undefined ? { counter: view.counter, sent: position.sent } : now,
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
  if (message === undefined) {
    if (view.open) return { messages: {}, isBehind: true };
    return snapshot(view);
  }
  const rest = restOf(message, sent);
  if (rest === 'unknown' && view.open && message.status === 'generating') return { messages: {}, isBehind: true };
  if (rest === 'unknown' || rest === 'other') {
    // Messages before one of the same turn are final; of a turn that is over, none is sure to be what was shown of it.
    if (sent.index < view.stored) return snapshot(view);
    return { messages: byIndex(view, sent.index), replaces_from: sent.index };
  }
  const messages = byIndex(view, sent.index + 1);
  if (rest.length > 0 || message.status !== sent.status) {
    return { messages: { [sent.index]: { ...message, content: rest }, ...messages } };
  }
  return { messages };
}

function snapshot(view: ThreadView): NewMessages {
  return { messages: byIndex(view, 0), replaces_from: 0 };
}

/** The blocks that are still to be sent; `unknown` where the message is shorter than what was sent. */
function restOf(message: AgentMessage, sent: SentMessages): AgentMessage['content'] | 'unknown' | 'other' {
  const { content } = message;
  if (content.length < sent.blocks) return 'unknown';
  const last = content[sent.blocks - 1];
  const text = last?.content_type === 'text' ? last.text : '';
  if (text.length < sent.chars) return 'unknown';
  if (digestOfSent(message, sent.blocks, sent.chars) !== sent.digest) return 'other';
  const more = text.slice(sent.chars);
  const blocks = content.slice(sent.blocks);
  return more === '' ? blocks : [{ content_type: 'text', text: more }, ...blocks];
}

function sentOf(message: AgentMessage, index: number): SentMessages {
  const last = message.content.at(-1);
  const blocks = message.content.length;
  const chars = last?.content_type === 'text' ? last.text.length : 0;
  return { index, blocks, chars, status: message.status, digest: digestOfSent(message, blocks, chars) };
}

function digestOfSent({ role, content }: AgentMessage, blocks: number, chars: number): string {
  const sent = content.slice(0, blocks);
  const last = sent.at(-1);
  if (last?.content_type === 'text') sent[blocks - 1] = { ...last, text: last.text.slice(0, chars) };
  return digestOf(JSON.stringify([role, sent]));
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
