/**
 * What callers write to threads, as the published Python client sends it: much of it null, goals flat, and in older
 * spellings, which are accepted and never written.
 */
import { z } from 'zod';
import { CHARACTER_LIMITS } from '../../contract/sizes.js';
import { AgentThreadStatus, ThreadVisibility } from '../../contract/thread-records.js';
import { MAX_GOALS_PER_TURN } from '../../contract/thread-commands.js';
import type { DecideCommand, SubmitCommand } from '../../contract/thread-commands.js';
import { SendMessage, ThreadRequest } from '../../contract/thread-request.js';
import type { GoalInput, SendMessageInput, ThreadRequestInput } from '../../contract/thread-request.js';
import { ClientTools } from '../../contract/tools.js';

/** Its data beside its type, or under `goal_data`. */
const Goal = z.looseObject({ goal_type: z.string().min(1, 'must not be empty') });
const goals = z.array(Goal).max(MAX_GOALS_PER_TURN, `at most ${MAX_GOALS_PER_TURN} per turn`).nullish();

/** There are none: whoever counts on one must hear of it. */
const skills = z.array(z.unknown()).max(0, 'there are no skills here: leave it out, or empty').nullish();

const legacyContext = { context: ThreadRequest.shape.client_context.describe('Older spelling of client_context.') };
const legacyId = z.string().optional().describe('Older spelling of thread_id.');

export const StartThread = ThreadRequest.pick({
  client_tools: true,
  client_context: true,
  analysis_scope: true,
  system_prompt: true,
  model_profile: true,
  thread_id: true,
  title: true,
  metadata: true,
}).extend({
  agent_id: ThreadRequest.shape.agent_id.optional().describe('By default the first agent of the configuration.'),
  messages: ThreadRequest.shape.messages.nullish(),
  goals,
  visibility: ThreadVisibility.nullish(),
  invoke_skills: skills,
  available_skills: skills,
  ...legacyContext,
  session_id: legacyId,
  chat_id: legacyId,
});

export const SendToThread = SendMessage.pick({
  client_tools: true,
  client_context: true,
  analysis_scope: true,
  on_busy: true,
}).extend({
  message: SendMessage.shape.message.nullish(),
  goals,
  invoke_skills: skills,
  ...legacyContext,
});

export const ToolUseResults = z.strictObject({
  tool_results: z
    .array(
      z.strictObject({
        tool_use_id: z.string().min(1, 'must not be empty'),
        tool_name: z.string().exactOptional(),
        runtime_ms: z.number().nonnegative().exactOptional(),
        status: z.enum(['success', 'error', 'declined']),
        output: z.unknown().exactOptional(),
      }),
    )
    .min(1, 'must hold at least one result'),
  client_tools: ClientTools.nullish(),
  answered_by: z.string().exactOptional(),
});

export const ThreadApproval = z.strictObject({
  tool_use_id: z.string().min(1, 'must not be empty'),
  decision: z.enum(['approve', 'deny']),
  digest: z.string().min(1, 'must not be empty').describe('Of the text that asks: which call was read.'),
  note: z.string().exactOptional(),
  answered_by: z.string().exactOptional(),
}) satisfies z.ZodType<DecideCommand>;

export const ForkThread = z.strictObject({
  message_sequence_num: z.number().int().nonnegative().describe('The last message that the fork has.'),
});

export const SetVisibility = z.strictObject({ visibility: ThreadVisibility });
export const SetPinned = z.strictObject({ pinned: z.boolean() });
export const RenameThread = z.strictObject({
  title: z.string().trim().min(1, 'must not be empty').max(CHARACTER_LIMITS.title),
});

const time = z.iso.datetime({ offset: true, error: 'must be a time like 2026-01-31T12:00:00Z' });

export const ThreadQuery = z.strictObject({
  status: AgentThreadStatus.optional(),
  agent_id: z.string().optional(),
  created_by: z.string().optional(),
  created_after: time.optional(),
  created_before: time.optional(),
  limit: z
    .string()
    .regex(/^([1-9]|[1-4]\d|50)$/, 'must be a number from 1 to 50')
    .optional(),
  page_token: z.string().optional(),
});

const { status, agent_id, created_by, created_after, created_before, page_token } = ThreadQuery.shape;

/** As a list is asked for, and by title and visibility; what is null is not asked for. */
export const ThreadSearch = z
  .strictObject({
    title: z.string().min(1, 'must not be empty').max(CHARACTER_LIMITS.title).nullish(),
    visibility: ThreadVisibility.nullish(),
    status: status.nullable(),
    agent_id: agent_id.nullable(),
    created_by: created_by.nullable(),
    created_after: created_after.nullable(),
    created_before: created_before.nullable(),
    limit: z.number().int().min(1).max(50).nullish(),
    page_token: page_token.nullable(),
  })
  .describe('`title` is a part of the title, in any case of letters.');

/** Who asks for goals and says nothing means them. */
const FOR_GOALS = 'Achieve the declared goals.';

export function threadRequestOf(
  { agent_id, messages, goals: declared, context, client_context, visibility, ...body }: z.output<typeof StartThread>,
  defaultAgent: string,
): ThreadRequestInput {
  const { session_id: _session, chat_id: _chat, invoke_skills: _invoke, available_skills: _available, ...rest } = body;
  const said = messages ?? [];
  const about = client_context ?? context;
  return {
    ...rest,
    agent_id: agent_id ?? defaultAgent,
    messages: said.length === 0 && hasGoals(declared) ? [FOR_GOALS] : said,
    ...(declared == null ? {} : { goals: declared.map(goalOf) }),
    ...(about == null ? {} : { client_context: about }),
    ...(visibility == null ? {} : { visibility }),
  };
}

/** Undefined: there is nothing to say. */
export function sendRequestOf(body: z.output<typeof SendToThread>): SendMessageInput | undefined {
  const { message, goals: declared, context, client_context, invoke_skills: _invoke, ...rest } = body;
  const said = message ?? (hasGoals(declared) ? FOR_GOALS : undefined);
  const about = client_context ?? context;
  if (said === undefined) return undefined;
  return {
    ...rest,
    message: said,
    ...(declared == null ? {} : { goals: declared.map(goalOf) }),
    ...(about == null ? {} : { client_context: about }),
  };
}

export function submitCommandOf({ client_tools, ...results }: z.output<typeof ToolUseResults>): SubmitCommand {
  return { ...results, ...(client_tools == null ? {} : { client_tools }) };
}

function hasGoals(declared: readonly unknown[] | null | undefined): boolean {
  return (declared?.length ?? 0) > 0;
}

function goalOf({ goal_type, ...fields }: z.output<typeof Goal>): GoalInput {
  const { goal_data, ...others } = fields;
  const isNested = typeof goal_data === 'object' && goal_data !== null && Object.keys(others).length === 0;
  return { goal_type, goal_data: isNested ? (goal_data as Record<string, unknown>) : fields };
}
