/**
 * What a thread's updates and queries take and give, and the checks that need no zod: an update can be sent by anyone,
 * and the workflow must answer it without a parser of its own.
 */
import type { AnswerRules, AwaitKind } from './awaits.js';
import type { ThreadCompaction } from './compaction.js';
import type { Page } from './pages.js';
import { isPrincipal } from './principal.js';
import type { Principal } from './principal.js';
import type { AsOf } from './queries.js';
import { isMark } from './request-mark.js';
import { oversized } from './sizes.js';
import type { RequestMark, UnseenRequest } from './request-mark.js';
import type { ThreadFields } from './thread-delta.js';
import type { AgentThreadRecord } from './thread-records.js';
import type { GoalInput, MessageInput, OnBusy } from './thread-request.js';
import type { ClientToolSpec } from './tools.js';

export const MAX_GOALS_PER_TURN = 5;

export interface SendCommand {
  message: MessageInput;
  client_tools?: ClientToolSpec[];
  goals?: GoalInput[];
  client_context?: Record<string, unknown>;
  analysis_scope?: Record<string, unknown>;
  on_busy?: OnBusy;
  /** Where it may be repeated. */
  mark?: RequestMark;
  /** Who says it, where that is known: not everybody may answer a question. */
  by?: Principal;
  answered_by?: string;
}

export type SendAnswer = { thread_id: string; /** Of the command's mark. */ digest?: string } & (
  | { state: 'started'; message_sequence_num: number; run_id: string }
  /** It becomes a message when what is before it is over. */
  | { state: 'queued'; ahead: number }
  /** It is the answer to a question of the turn that is going on, which goes on with it. */
  | { state: 'answered'; run_id: string; await_id: string }
);

/** Several messages at once, each with a key by which it is known when it is sent again. */
export interface SendBatch {
  commands: (SendCommand & { key: string })[];
}

/** One for each of them. */
export type SendBatchAnswer = (SendAnswer | { code: string; message: string })[];

export interface ToolUseResult {
  tool_use_id: string;
  status: 'success' | 'error' | 'declined';
  tool_name?: string;
  runtime_ms?: number;
  output?: unknown;
}

export interface SubmitCommand {
  tool_results: ToolUseResult[];
  /** For the turns to come. */
  client_tools?: ClientToolSpec[];
  /** Who gives them, where that is known: not everybody may. */
  by?: Principal;
  answered_by?: string;
}

/** What somebody says to a call that waits for leave. */
export interface DecideCommand {
  tool_use_id: string;
  decision: 'approve' | 'deny';
  /** Of the text that asks: what is decided is this call with these arguments. */
  digest: string;
  note?: string;
  by?: Principal;
  answered_by?: string;
}

/** A bookmark of one reader. */
export interface PinCommand {
  by: string;
  pinned: boolean;
}

export interface CancelTurnAnswer {
  thread_id: string;
  /** Absent: there was no turn to cancel. */
  run_id?: string;
}

/** A tool use that waits for the client. */
export interface PendingToolUse {
  tool_use_id: string;
  run_id: string;
  tool_call_id: string;
  await_id: string;
  /** Who may give the result. Absent where its run states nothing, or is of an earlier release. */
  rules?: AnswerRules;
}

/** A pause of the open turn that is not for client tools. */
export interface OpenPause {
  run_id: string;
  await_id: string;
  kind: AwaitKind;
  /** It is in the record, and the thread takes the answer. Absent where its run is of an earlier release. */
  asked?: { tool_use_id: string; digest?: string };
  rules?: AnswerRules;
  /** It is not in the record before the client's tools have their results, and nobody can answer it here. */
  held?: true;
}

/** All of a thread but its messages. */
export interface ThreadHeader extends ThreadFields {
  record: Omit<AgentThreadRecord, 'messages' | 'goals' | 'status' | 'title' | 'continuation_token'>;
  agent_id: string;
  /** Its request was validated, and what it began with is in the record. */
  ready: boolean;
  counter: number;
  changed: Record<keyof ThreadFields, number>;
  /** How many turns have begun; those of the thread that it was forked from do not count. */
  turns: number;
  /** The turn that is going on; its messages come after those that the thread holds. */
  turn?: { run_id: string };
  queued: number;
  pending: PendingToolUse[];
  /** Tool uses whose results were given, and that their run has not taken yet. Absent where the worker is of 0.7. */
  given?: string[];
  pauses: OpenPause[];
  deleted: boolean;
  /** Of the request that started it. */
  mark?: RequestMark;
  /** Absent where the worker is older. */
  unseen?: UnseenRequest[];
  /** Since when, by reader. */
  pins?: Record<string, string>;
}

/** `read_settings`: what a fork takes along beside the messages. */
export interface ThreadSettings extends AsOf {
  /** That was asked for; null: that of the agent. Absent where the worker is of 0.7. */
  model_profile?: string | null;
  system_prompt?: string;
  analysis_scope?: Record<string, unknown>;
  compaction?: ThreadCompaction;
  /** For a fork by whoever the thread works for. */
  roles?: string[];
  metadata?: Record<string, unknown>;
}

/** `read_queue`: pages of the messages that wait. */
export interface QueuePage extends Page, AsOf {}

/** `read_thread`: pages of messages, each with the header. */
export interface ThreadPage extends Page, AsOf {
  header: ThreadHeader;
}

/** Undefined when the shape is right, else what is wrong with it. */
export function malformedSend(command: unknown): string | undefined {
  const given = objectOf(command);
  if (given === undefined) return 'the command is no object';
  const message = objectOf(given['message']);
  const content = message?.['content'];
  if (message?.['role'] !== 'user') return 'message.role must be "user"';
  if (!Array.isArray(content) || content.length === 0 || !content.every(isText))
    return 'message.content must be a list of {"content_type": "text", "text": "…"}';
  const { goals = [], client_tools = [], on_busy = 'reject' } = given;
  if (!Array.isArray(goals) || !goals.every((goal) => typeof objectOf(goal)?.['goal_type'] === 'string'))
    return 'goals must be a list of {"goal_type": "…", "goal_data": {…}}';
  if (goals.length > MAX_GOALS_PER_TURN) return `goals: at most ${MAX_GOALS_PER_TURN} per turn`;
  if (!Array.isArray(client_tools)) return 'client_tools must be a list';
  if (given['by'] !== undefined && !isPrincipal(given['by'])) return 'by must be a principal';
  if (given['mark'] !== undefined && !isMark(given['mark'])) return 'mark must be {"by": "…", "digest": "…"}';
  const { client_context, analysis_scope } = given;
  for (const [name, value] of Object.entries({ client_context, analysis_scope }))
    if (value !== undefined && objectOf(value) === undefined) return `${name} must be an object`;
  const tooLarge = oversized({ client_context, analysis_scope });
  if (tooLarge !== undefined) return `${tooLarge.field} ${tooLarge.message}`;
  return ['reject', 'enqueue', 'interrupt'].includes(String(on_busy))
    ? undefined
    : 'on_busy must be "reject", "enqueue" or "interrupt"';
}

export function malformedResults(command: unknown): string | undefined {
  const results = objectOf(command)?.['tool_results'];
  if (!Array.isArray(results) || results.length === 0) return 'tool_results must be a list with at least one result';
  const by = objectOf(command)?.['by'];
  if (by !== undefined && !isPrincipal(by)) return 'by must be a principal';
  for (const [n, result] of (results as unknown[]).entries()) {
    const { tool_use_id, status, runtime_ms = 0 } = objectOf(result) ?? {};
    if (typeof tool_use_id !== 'string') return `tool_results[${n}].tool_use_id must be a text`;
    if (!['success', 'error', 'declined'].includes(String(status)))
      return `tool_results[${n}].status must be "success", "error" or "declined"`;
    if (typeof runtime_ms !== 'number' || !Number.isFinite(runtime_ms) || runtime_ms < 0)
      return `tool_results[${n}].runtime_ms must be a number of milliseconds`;
  }
  return undefined;
}

export function malformedDecision(command: unknown): string | undefined {
  const { tool_use_id, decision, digest, note = '', by } = objectOf(command) ?? {};
  if (typeof tool_use_id !== 'string') return 'tool_use_id must be a text';
  if (decision !== 'approve' && decision !== 'deny') return 'decision must be "approve" or "deny"';
  if (typeof digest !== 'string') return 'digest must be a text: that of the text that asks';
  if (typeof note !== 'string') return 'note must be a text';
  return by === undefined || isPrincipal(by) ? undefined : 'by must be a principal';
}

function isText(block: unknown): boolean {
  const { content_type, text } = objectOf(block) ?? {};
  return content_type === 'text' && typeof text === 'string' && text !== '';
}

function objectOf(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
}
