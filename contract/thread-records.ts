/**
 * Threads as they are stored and sent: `seeds/thread-records.md`, name by name. What the seed gives a default is written
 * out (`null`, not left away), so that a reader needs to know only one form.
 */
import { z } from 'zod';
import { ToolContent, ToolOutputRef } from './messages.js';
import { ToolFailure } from './tools.js';

export const AgentRole = z.enum(['user', 'assistant', 'roboto']);
export type AgentRole = z.infer<typeof AgentRole>;

export const AgentMessageStatus = z.enum(['not_started', 'generating', 'completed', 'failed', 'cancelled']);
export type AgentMessageStatus = z.infer<typeof AgentMessageStatus>;

export const AgentThreadStatus = z.enum([
  'not_started',
  'user_turn',
  'roboto_turn',
  'client_tool_turn',
  'goals_failed',
]);
export type AgentThreadStatus = z.infer<typeof AgentThreadStatus>;

export const AgentGoalStatus = z.enum(['pending', 'achieved', 'failed']);
export type AgentGoalStatus = z.infer<typeof AgentGoalStatus>;

export const AgentContentType = z.enum(['text', 'tool_use', 'tool_result', 'error']);
export type AgentContentType = z.infer<typeof AgentContentType>;

/** Set when the thread is made, for its whole life. */
export const ThreadVisibility = z.enum(['private', 'org']);
export type ThreadVisibility = z.infer<typeof ThreadVisibility>;

const payload = z.record(z.string(), z.unknown()).nullable().default(null);

/** A question is answered by the next message; an approval by whoever may, with the digest of what was read. */
export const AskedPause = z.object({
  kind: z.enum(['clarification', 'approval']),
  /** The call that asks, or that wants to be made: unique in the thread. */
  tool_use_id: z.string(),
  /** The run that waits, and its name for the pause. */
  run_id: z.string(),
  await_id: z.string(),
  /** Of an approval. */
  digest: z.string().optional(),
  expires_at: z.string().optional(),
});
export type AskedPause = z.infer<typeof AskedPause>;

export const AgentTextContent = z.object({
  content_type: z.literal('text'),
  text: z.string(),
  /** Ours, of a text in which the turn asks something of people. */
  asks: AskedPause.optional(),
});
export type AgentTextContent = z.infer<typeof AgentTextContent>;

export const AgentToolUseContent = z.object({
  content_type: z.literal('tool_use'),
  tool_name: z.string(),
  /** Unique in the thread. */
  tool_use_id: z.string(),
  /** Parsed; null where the model wrote something else than an object. */
  input: payload,
  raw_request: payload,
});
export type AgentToolUseContent = z.infer<typeof AgentToolUseContent>;

export const AgentToolResultContent = z.object({
  content_type: z.literal('tool_result'),
  tool_name: z.string(),
  tool_use_id: z.string(),
  runtime_ms: z.number().int().nonnegative(),
  /** `success`, `error`, or `declined` by whoever runs a client tool. */
  status: z.string(),
  /** What the tool gave, where that is an object; else it is `result` of one. Of a call that failed, why: `error`. */
  raw_response: payload,
  /** Ours: what models are told of it. Up to 0.7 these fields were the `raw_response`. */
  told: z
    .object({
      name: z.string(),
      /** Absent where it follows from the rest: see `tool-blocks.ts`. */
      content: ToolContent.optional(),
      output_ref: ToolOutputRef.optional(),
      trimmed: z.boolean().optional(),
      failure: ToolFailure.optional(),
    })
    .optional(),
});
export type AgentToolResultContent = z.infer<typeof AgentToolResultContent>;

export const AgentErrorContent = z.object({
  content_type: z.literal('error'),
  error_message: z.string(),
  error_code: z.string().nullable().default(null),
});
export type AgentErrorContent = z.infer<typeof AgentErrorContent>;

export const AgentContent = z.discriminatedUnion('content_type', [
  AgentTextContent,
  AgentToolUseContent,
  AgentToolResultContent,
  AgentErrorContent,
]);
export type AgentContent = z.infer<typeof AgentContent>;

export const AgentMessage = z.object({
  role: AgentRole,
  content: z.array(AgentContent),
  status: AgentMessageStatus,
  created: z.iso.datetime(),
  /** Ours, of a message that was stored up to 0.7: what its text asks, which is since then in the block itself. */
  asks: AskedPause.optional(),
  /** Ours, of a message that answers such a question: the tool use that asks it. */
  answers: z.string().optional(),
});
export type AgentMessage = z.infer<typeof AgentMessage>;

export const AgentThreadGoalRecord = z.object({
  goal_type: z.string(),
  goal_data: z.record(z.string(), z.unknown()),
  status: AgentGoalStatus,
  /** Index of the user message that declared it. */
  message_sequence_num: z.number().int().nonnegative(),
  created: z.iso.datetime(),
  concluded_at: z.iso.datetime().nullable().default(null),
  /** The call that achieved it; of one that failed, the last try. As newer releases of the published client read it. */
  achieve_tool_use_id: z.string().nullable().optional(),
});
export type AgentThreadGoalRecord = z.infer<typeof AgentThreadGoalRecord>;

export const AgentThreadRecord = z.object({
  thread_id: z.string(),
  org_id: z.string(),
  created: z.iso.datetime(),
  created_by: z.string(),
  created_from_agent_id: z.string().nullable().default(null),
  forked_from_thread_id: z.string().nullable().default(null),
  forked_from_message_sequence_num: z.number().int().nullable().default(null),
  visibility: ThreadVisibility.default('private'),
  model_profile: z.string().nullable().default(null),
  title: z.string().nullable().default(null),
  status: AgentThreadStatus,
  messages: z.array(AgentMessage).default([]),
  /** Null: not loaded. */
  goals: z.array(AgentThreadGoalRecord).nullable().default(null),
  continuation_token: z.string(),
});
export type AgentThreadRecord = z.infer<typeof AgentThreadRecord>;

export const AgentThreadDelta = z.object({
  continuation_token: z.string(),
  /** A known message's blocks are appended to it; a text that follows a text goes on with it. */
  messages_by_idx: z.record(z.string().regex(/^\d+$/), AgentMessage),
  /** Null: no change. */
  status: AgentThreadStatus.nullable().default(null),
  title: z.string().nullable().default(null),
  goals: z.array(AgentThreadGoalRecord).nullable().default(null),
  /**
   * Ours, and rare: messages from this index on take the place of those that were sent before. A model call was tried
   * again after a part of its text had been read, or the token was too old to go on from.
   */
  replaces_from: z.number().int().nonnegative().optional(),
});
export type AgentThreadDelta = z.infer<typeof AgentThreadDelta>;

export const ModelProfileResponse = z.object({
  id: z.string(),
  label: z.string(),
  description: z.string(),
  is_default: z.boolean().default(false),
});
export type ModelProfileResponse = z.infer<typeof ModelProfileResponse>;

const LEGACY = { session_id: 'thread_id', chat_id: 'thread_id', forked_from_session_id: 'forked_from_thread_id' };

/** Reads a record that may have been written in the older spellings; they are never written. */
export function readThreadRecord(value: unknown): AgentThreadRecord {
  if (typeof value !== 'object' || value === null) return AgentThreadRecord.parse(value);
  const fields: Record<string, unknown> = { ...value };
  for (const [old, name] of Object.entries(LEGACY)) {
    if (old in fields && fields[name] === undefined) fields[name] = fields[old];
    delete fields[old];
  }
  return AgentThreadRecord.parse(fields);
}
