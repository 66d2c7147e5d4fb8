/**
 * All that a thread knows, and the part of it that continues as new. What a client sees of it is the record; the
 * conversation as models read it is derived from the messages.
 */
import { workflowInfo } from '@temporalio/workflow';
import type { OpenedThread } from '../../contract/activities.js';
import type { ThreadCompaction } from '../../contract/compaction.js';
import type { Cancellation } from '../../contract/run.js';
import type { RequestMark, UnseenRequest } from '../../contract/request-mark.js';
import { utf8Bytes } from '../../contract/sizes.js';
import type { OpenPause, PendingToolUse, SendAnswer } from '../../contract/thread-commands.js';
import { betweenTexts, closeOpenCalls, contextOf, emptyContext, foldResults } from '../../contract/thread-context.js';
import type { ThreadContext } from '../../contract/thread-context.js';
import type { ThreadFields } from '../../contract/thread-delta.js';
import type { AgentMessage, AgentThreadGoalRecord, AgentThreadStatus } from '../../contract/thread-records.js';
import type { GoalInput, MessageInput, ThreadRequest } from '../../contract/thread-request.js';
import type { StateCells } from '../../contract/tool-state.js';
import type { ClientToolSpec } from '../../contract/tools.js';
import type { Outcomes } from '../commands.js';
import { REVISION } from '../patches.js';
import type { Holding } from './hold-pauses.js';
import type { ThreadPageView } from './thread-page.js';
import { unseenStart } from './unseen-requests.js';

/** A message that waits for its turn. */
export interface Said {
  message: MessageInput;
  client_tools?: ClientToolSpec[];
  goals?: GoalInput[];
  mark?: RequestMark;
  client_context?: Record<string, unknown>;
  analysis_scope?: Record<string, unknown>;
  /** When it came. Since 0.7. */
  at?: string;
  /** Of all the rest. Since 0.8. */
  bytes?: number;
}

/** The turn that is going on. Its user message is in the record; what its run says comes when the run is over. */
export interface Turn {
  number: number;
  run_id: string;
  input: string;
  goals: GoalInput[];
  client_tools: ClientToolSpec[];
  /** Of the conversation before it. */
  prefix: { length: number; digest: string; characters: number };
  /** Index of its user message. */
  message_sequence_num: number;
  client_context?: Record<string, unknown>;
  /** As it was when the turn began. */
  analysis_scope?: Record<string, unknown>;
  /** Its run was asked for: from then on the thread cannot continue as new. */
  started: boolean;
  cancellation?: Cancellation;
  /** Answers to its questions, until its runs have said that they heard them. */
  answering?: { run_id: string; await_id: string; said: Said }[];
}

export interface Goal extends AgentThreadGoalRecord {
  turn: number;
}

/** Version history: 1 first shape. */
export interface CarriedThread {
  version: 1;
  opened: OpenedThread;
  created: string;
  messages: AgentMessage[];
  goals: Goal[];
  title: string | null;
  /** The title is the first message's, until a model has written a better one or somebody has given one. */
  title_is_draft?: boolean;
  status: AgentThreadStatus;
  counter: number;
  changed: Record<keyof ThreadFields, number>;
  turns: number;
  turn?: Turn;
  queue: Said[];
  client_tools: ClientToolSpec[];
  analysis_scope?: Record<string, unknown>;
  compaction?: ThreadCompaction;
  taken: [string, SendAnswer | null][];
  /** Of commands that came as signals. Since 0.8. */
  outcomes?: Outcomes;
  /** The shared cells of the tools' state; absent: none. */
  tool_state?: StateCells;
  /** Since 0.4. */
  unseen?: UnseenRequest[];
  pins?: Record<string, string>;
}

export interface Thread extends Omit<CarriedThread, 'version' | 'opened' | 'turn'> {
  readonly thread_id: string;
  /** Undefined until the request was validated. */
  opened: OpenedThread | undefined;
  /** As it came. */
  readonly raw: Partial<ThreadRequest>;
  context: ThreadContext;
  /** Of messages and goals. */
  held_bytes: number;
  turn: Turn | undefined;
  /** What a person sees of it in the Temporal UI, once there is something to see. */
  page?: ThreadPageView;
  /** A model is writing the title. */
  titling: boolean;
  pending: PendingToolUse[];
  /** Those of them that have their results, until the run says so. */
  given: PendingToolUse[];
  pauses: OpenPause[];
  /** Pauses of the open turn for the client's tools. */
  holding: Holding[];
  deleted: boolean;
  readonly outcomes: Outcomes;
  unseen: UnseenRequest[];
  pins: Record<string, string>;
}

/** Ids of commands that may still be sent again. */
export const TAKEN_KEPT = 1_000;

export function beginThread(raw: unknown): Thread {
  const given = (typeof raw === 'object' && raw !== null ? raw : {}) as Partial<ThreadRequest>;
  // As it is listed: a worker may take it up later.
  const at = workflowInfo().startTime.toISOString();
  return {
    ...assemble(given, [], at),
    status: hasMessages(given) ? 'roboto_turn' : 'not_started',
    unseen: unseenStart(workflowInfo().workflowId, given.mark),
  };
}

export function resumeThread(carried: CarriedThread): Thread {
  const { version: _, opened, turn, ...state } = carried;
  const thread = assemble(opened.request, carried.messages, carried.created);
  const between = betweenTexts(opened.revision);
  const context = contextOf(carried.messages, carried.compaction, between);
  const held_bytes = [...carried.messages, ...carried.goals].reduce(
    (sum, each) => sum + utf8Bytes(JSON.stringify(each)),
    0,
  );
  const resumed = turn && { ...turn, prefix: prefixOf(carried, turn, between) };
  return { ...thread, ...state, context, held_bytes, opened, turn: resumed };
}

/** As of a turn that has not begun, which this part of the thread may read in another way than the one before. */
function prefixOf({ messages, compaction }: CarriedThread, turn: Turn, between: string): Turn['prefix'] {
  const { message_sequence_num: asked } = turn;
  const before = contextOf(messages.slice(0, asked), compaction, between);
  foldResults(before, messages[asked]?.content ?? [], asked);
  closeOpenCalls(before, asked);
  return { length: before.messages.length, digest: before.digest, characters: before.characters };
}

export function carryThread(thread: Thread, opened: OpenedThread): CarriedThread {
  const { forked_from, ...request } = opened.request;
  // Its messages are in the record now, and so are those that it began with.
  const { thread_id = '', message_sequence_num = 0 } = forked_from ?? {};
  const kept = forked_from === undefined ? {} : { forked_from: { thread_id, message_sequence_num, messages: [] } };
  return {
    version: 1,
    opened: {
      ...opened,
      request: { ...request, messages: [], ...kept },
      // What comes next has a history of its own.
      ...(opened.revision === undefined ? {} : { revision: REVISION }),
    },
    created: thread.created,
    messages: thread.messages,
    goals: thread.goals,
    title: thread.title,
    ...(thread.title_is_draft === true ? { title_is_draft: true } : {}),
    status: thread.status,
    counter: thread.counter,
    changed: thread.changed,
    turns: thread.turns,
    ...(thread.turn === undefined ? {} : { turn: thread.turn }),
    queue: thread.queue,
    client_tools: thread.client_tools,
    ...(thread.analysis_scope === undefined ? {} : { analysis_scope: thread.analysis_scope }),
    ...(thread.compaction === undefined ? {} : { compaction: thread.compaction }),
    taken: thread.taken.slice(-TAKEN_KEPT),
    ...(thread.outcomes.length === 0 ? {} : { outcomes: thread.outcomes }),
    ...(thread.tool_state === undefined ? {} : { tool_state: thread.tool_state }),
    ...(thread.unseen.length === 0 ? {} : { unseen: thread.unseen }),
    ...(Object.keys(thread.pins).length === 0 ? {} : { pins: thread.pins }),
  };
}

function assemble(raw: Partial<ThreadRequest>, messages: AgentMessage[], created: string): Thread {
  return {
    thread_id: workflowInfo().workflowId,
    raw,
    opened: undefined,
    created,
    messages,
    context: emptyContext(),
    held_bytes: 0,
    goals: [],
    title: null,
    status: 'not_started',
    counter: 1,
    changed: { status: 1, title: 1, goals: 1 },
    turns: 0,
    turn: undefined,
    titling: false,
    queue: [],
    client_tools: [],
    taken: [],
    outcomes: [],
    unseen: [],
    pins: {},
    pending: [],
    given: [],
    pauses: [],
    holding: [],
    deleted: false,
  };
}

function hasMessages({ messages }: Partial<ThreadRequest>): boolean {
  return Array.isArray(messages) && messages.length > 0;
}
