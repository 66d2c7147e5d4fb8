/**
 * The messages of a turn while they are made of its run's log: what the fold knows, and the few ways in which messages
 * grow. What each event does is in `thread-projection.ts`; J1 to J3 there hold for everything here. No zod here.
 */
import type {
  AgentContent,
  AgentMessage,
  AgentMessageStatus,
  AgentRole,
  AgentTextContent,
  AskedPause,
} from './thread-records.js';

export interface TurnMessages {
  readonly thread_id: string;
  readonly messages: AgentMessage[];
  /** The step that the last message belongs to, and when it began. */
  step_id: string | undefined;
  step_began: string;
  /** The last message was cut by the model's limit of length: the next step may go on with it. */
  cut: boolean;
  /** Calls of the step that have no result yet; and those among them that the client runs. */
  readonly open_calls: Set<string>;
  readonly client_calls: Set<string>;
  /** Its goals that are concluded, by their ids. */
  readonly goals: Map<string, ConcludedGoal>;
  /** The goals that calls of a tool achieve, by its name; and the last such call of each goal, as its tool use. */
  readonly achievers: Map<string, string>;
  readonly tries: Map<string, string>;
  /** What was asked of people so far: run and pause → the tool use. */
  readonly questions: Map<string, string>;
  /** What is asked, and not shown before the client has given the results of its tools: see `turn-pauses.ts`. */
  held: HeldPause[];
}

export interface ConcludedGoal {
  status: 'achieved' | 'failed';
  at: string;
  /** The tool use that achieved it, or the last that tried. */
  tool_use_id?: string;
}

export interface HeldPause {
  /** Its run and pause. */
  key: string;
  asks: AskedPause;
  /** The question, and the answer where there is one already. */
  messages: AgentMessage[];
}

export function beginTurnMessages(threadId: string): TurnMessages {
  return {
    thread_id: threadId,
    messages: [],
    step_id: undefined,
    step_began: '',
    cut: false,
    open_calls: new Set(),
    client_calls: new Set(),
    goals: new Map(),
    achievers: new Map(),
    tries: new Map(),
    questions: new Map(),
    held: [],
  };
}

/** The message that the model is writing. */
export function speaking(turn: TurnMessages): AgentMessage {
  return lastOf(turn, 'assistant') ?? push(turn, 'assistant', turn.step_began);
}

/** The last message, while it is being generated and if it is of that role. */
export function lastOf(turn: TurnMessages, role: AgentRole): AgentMessage | undefined {
  const last = turn.messages.at(-1);
  return last?.role === role && last.status === 'generating' ? last : undefined;
}

export function push(turn: TurnMessages, role: AgentRole, created: string): AgentMessage {
  const message = begin(role, created, []);
  pushWhole(turn, message);
  return message;
}

/** One that is as it is. */
export function pushWhole(turn: TurnMessages, message: AgentMessage): void {
  finishLast(turn, 'completed');
  turn.messages.push(message);
}

export function begin(role: AgentRole, created: string, content: AgentContent[]): AgentMessage {
  return { role, content, status: 'generating', created };
}

export function finishLast(turn: TurnMessages, status: AgentMessageStatus): void {
  turn.cut = false;
  const last = turn.messages.at(-1);
  if (last !== undefined) turn.messages[turn.messages.length - 1] = ended(last, status);
}

export function ended(message: AgentMessage, status: AgentMessageStatus): AgentMessage {
  return message.status === 'generating' ? { ...message, status } : message;
}

/** The last message with one more block, whatever its status; what was given out of it stays as it is. */
export function extendLast(turn: TurnMessages, block: AgentContent): void {
  const last = turn.messages.at(-1);
  if (last === undefined) return;
  const copy: AgentMessage = { ...last, content: [...last.content] };
  append(copy, block);
  turn.messages[turn.messages.length - 1] = copy;
}

/** Appends a block; a text goes on with the text before it, unless one of them asks something. */
export function append(message: AgentMessage, block: AgentContent): void {
  const last = message.content.at(-1);
  if (isSpeech(block) && last !== undefined && isSpeech(last)) {
    message.content[message.content.length - 1] = { ...last, text: last.text + block.text };
  } else message.content.push(block);
}

function isSpeech(block: AgentContent): block is AgentTextContent {
  return block.content_type === 'text' && block.asks === undefined;
}
