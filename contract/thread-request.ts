/** What starts a thread, and what is said in it, as callers write it: checked where it enters, older spellings too. */
import { z } from 'zod';
import { AgentId } from './agent-spec.js';
import { checkSizes } from './check-sizes.js';
import { PerdureError } from './errors.js';
import { CALLER_RUN_ID_PATTERN } from './ids.js';
import { OneText, SeedMessage, SpokenRole, TextBlock } from './seed-messages.js';
import { CHARACTER_LIMITS } from './sizes.js';
import { MAX_GOALS_PER_TURN } from './thread-commands.js';
import { AgentContent, AgentMessage, ThreadVisibility } from './thread-records.js';
import { ClientTools } from './tools.js';

/** A message as it is sent: texts only, in a list or as one text. */
export const MessageInput = z.union([OneText, z.object({ role: SpokenRole, content: z.array(TextBlock).min(1) })]);
export type MessageInput = z.infer<typeof MessageInput>;

export const GoalInput = z.object({
  goal_type: z.string().min(1),
  goal_data: z.record(z.string(), z.unknown()).default({}),
});
export type GoalInput = z.infer<typeof GoalInput>;

const said = {
  client_tools: ClientTools.nullish(),
  goals: z.array(GoalInput).max(MAX_GOALS_PER_TURN, `at most ${MAX_GOALS_PER_TURN} per turn`).nullish(),
  /** Data that the model reads with this message. */
  client_context: z.record(z.string(), z.unknown()).nullish(),
  /** Data that the model reads in every turn, until a message brings another one. */
  analysis_scope: z.record(z.string(), z.unknown()).nullish(),
};

/** `{"agent_id":"demo.assistant","messages":["hello"]}` is enough; without messages the thread waits for its first one. */
export const ThreadRequest = z.strictObject({
  agent_id: AgentId,
  messages: z.array(SeedMessage).default([]),
  ...said,
  /** What the caller asks of the agent for the whole thread, on top of the agent's own instructions. */
  system_prompt: z.string().min(1, 'must not be empty').nullish(),
  thread_id: z.string().regex(CALLER_RUN_ID_PATTERN, 'may hold letters, digits and . _ : - and no "/"').optional(),
  org_id: z.string().optional(),
  created_by: z.string().optional(),
  roles: z.array(z.string()).optional(),
  /** For the application's own functions, in every turn. The model does not read it. */
  metadata: z.record(z.string(), z.unknown()).optional(),
  created_from_agent_id: z.string().optional(),
  visibility: ThreadVisibility.optional(),
  model_profile: z.string().nullish(),
  title: z.string().min(1).max(CHARACTER_LIMITS.title).optional(),
  signal_live: z.boolean().optional(),
  /** Where the start may be repeated: see `contract/request-mark.ts`. */
  mark: z.strictObject({ by: z.string(), digest: z.string(), at: z.number().optional() }).optional(),
  /** Of a fork: where it comes from, and the messages up to there. */
  forked_from: z
    .strictObject({
      thread_id: z.string(),
      message_sequence_num: z.number().int().nonnegative(),
      messages: z.array(AgentMessage.extend({ content: z.array(AgentContent) })),
      /** Of which the oldest are read as this. */
      compaction: z
        .strictObject({
          summary: z.string(),
          from: z.number().int().nonnegative(),
          also: z.number().int().nonnegative().optional(),
        })
        .optional(),
    })
    .optional(),
});
export type ThreadRequest = z.infer<typeof ThreadRequest>;
export type ThreadRequestInput = z.input<typeof ThreadRequest>;

export const OnBusy = z.enum(['reject', 'enqueue', 'interrupt']);
export type OnBusy = z.infer<typeof OnBusy>;

export const SendMessage = z.strictObject({
  message: MessageInput,
  ...said,
  on_busy: OnBusy.default('reject'),
});
export type SendMessage = z.infer<typeof SendMessage>;
export type SendMessageInput = z.input<typeof SendMessage>;

export function checkThreadRequest(value: unknown): ThreadRequest {
  const request = parse(ThreadRequest, withoutLegacy(value), 'the request of a thread');
  const last = request.messages.at(-1);
  if (last !== undefined && last.role !== 'user')
    throw new PerdureError('invalid_request', 'messages: the last one must be the user’s, for the agent to answer');
  if (last?.content.every((block) => block.content_type !== 'text') === true)
    throw new PerdureError('invalid_request', 'messages: the last one must hold a text, for the agent to answer');
  if (request.messages.length === 0 && (request.goals?.length ?? 0) > 0)
    throw new PerdureError('invalid_request', 'goals: they belong to a message; send one with them');
  if (request.messages.length === 0 && request.client_context != null)
    throw new PerdureError('invalid_request', 'client_context: it belongs to a message; send one with it');
  checkSizes(request);
  return request;
}

export function checkSendMessage(value: unknown): SendMessage {
  const sent = parse(SendMessage, value, 'the message');
  if (sent.message.role !== 'user') throw new PerdureError('invalid_request', 'message.role: must be "user"');
  checkSizes(sent);
  return sent;
}

function parse<T extends z.ZodType>(schema: T, value: unknown, what: string): z.infer<T> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map((issue) => ({ path: issue.path.join('.'), message: issue.message }));
  const list = issues.map(({ path, message }) => `${path || 'request'}: ${message}`).join('; ');
  throw new PerdureError('invalid_request', `${what} is invalid: ${list}`, { issues });
}

function withoutLegacy(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const { session_id, chat_id, ...rest } = value as Record<string, unknown>;
  const old = session_id ?? chat_id;
  return old === undefined || 'thread_id' in rest ? rest : { ...rest, thread_id: old };
}
