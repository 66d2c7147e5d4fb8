/**
 * The transcript as turns that alternate, for vendors that want it so (Anthropic, Gemini).
 *
 * 1. System messages before anyone has spoken are apart; a later one is said in the user's turn, marked as what it
 *    is, since not every model takes one there.
 * 2. Results come first in the turn after their calls, in the order of the calls, whatever order they ended in.
 * 3. The id of a call is unique in the request and in the alphabet that the vendors share.
 */
import type {
  AssistantMessage,
  BaseMessage,
  ContentPart,
  ReasoningMessage,
  SystemMessage,
  ToolCall,
  ToolMessage,
} from '../contract/messages.js';

export interface UserTurn {
  role: 'user';
  results: { id: string; call: ToolCall | undefined; message: ToolMessage }[];
  parts: ContentPart[];
}

export interface AssistantTurn {
  role: 'assistant';
  said: (ReasoningMessage | AssistantMessage)[];
  /** By our id, in the order they were asked for. */
  calls: Map<string, { id: string; call: ToolCall }>;
}

export interface Conversation {
  system: SystemMessage[];
  turns: (UserTurn | AssistantTurn)[];
}

export function readConversation(messages: readonly BaseMessage[]): Conversation {
  const { system, turns }: Conversation = { system: [], turns: [] };
  const ids = createCallIds();
  let asked: AssistantTurn['calls'] = new Map();

  const userTurn = (): UserTurn => {
    const last = turns.at(-1);
    if (last?.role === 'user') return last;
    const turn: UserTurn = { role: 'user', results: [], parts: [] };
    turns.push(turn);
    return turn;
  };
  const assistantTurn = (): AssistantTurn => {
    const last = turns.at(-1);
    if (last?.role === 'assistant') return last;
    const turn: AssistantTurn = { role: 'assistant', said: [], calls: new Map() };
    asked = turn.calls;
    turns.push(turn);
    return turn;
  };

  for (const message of messages) {
    switch (message.role) {
      case 'system':
        if (turns.length === 0) system.push(message);
        else userTurn().parts.push({ type: 'text', text: `[system] ${textOf(message.content)}` });
        break;
      case 'user':
        userTurn().parts.push(...partsOf(message.content, message.name));
        break;
      case 'tool': {
        const known = asked.get(message.tool_call_id);
        userTurn().results.push({ id: known?.id ?? ids(message.tool_call_id), call: known?.call, message });
        break;
      }
      case 'reasoning':
        assistantTurn().said.push(message);
        break;
      case 'assistant': {
        const turn = assistantTurn();
        turn.said.push(message);
        for (const call of message.tool_calls ?? []) turn.calls.set(call.id, { id: ids(call.id), call });
        break;
      }
    }
  }
  for (const [index, turn] of turns.entries()) if (turn.role === 'user') sortResults(turn, turns[index - 1]);
  return { system, turns };
}

export function textOf(content: string | readonly ContentPart[]): string {
  if (typeof content === 'string') return content;
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('\n');
}

/** What an assistant said in words: these vendors have no field of their own for a refusal. */
export function wordsOf({ content, refusal }: AssistantMessage): string {
  return [content, refusal].filter(Boolean).join('\n\n');
}

/** The vendors take an object only; what a model wrote that is none is kept as text. */
export function argumentsOf({ function: { arguments: text } }: ToolCall): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text === '' ? '{}' : text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Kept below.
  }
  return { malformed_arguments: text };
}

/** These vendors have no field for who speaks. */
function partsOf(content: string | ContentPart[], name: string | undefined): ContentPart[] {
  const parts: ContentPart[] = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
  return name === undefined || name === '' ? parts : [{ type: 'text', text: `${name} says:` }, ...parts];
}

function sortResults(turn: UserTurn, before: UserTurn | AssistantTurn | undefined): void {
  const order = before?.role === 'assistant' ? [...before.calls.keys()] : [];
  turn.results.sort((a, b) => order.indexOf(a.message.tool_call_id) - order.indexOf(b.message.tool_call_id));
}

const MAX_ID_LENGTH = 64;

function createCallIds(): (id: string) => string {
  const taken = new Set<string>();
  return (id) => {
    const safe = id.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(-MAX_ID_LENGTH) || 'call';
    let unique = safe;
    for (let n = 2; taken.has(unique); n += 1)
      unique = `${safe.slice(-(MAX_ID_LENGTH - 6))}_again${n}`.slice(-MAX_ID_LENGTH);
    taken.add(unique);
    return unique;
  };
}
