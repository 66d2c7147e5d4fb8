/** What is sent to a run: its request, answers to its pauses, a cancel. */
import { z } from 'zod';
import type { ApprovalAnswer, ClarificationAnswer, ToolResultsAnswer } from '../../contract/awaits.js';
import { THREAD_NAME_PATTERN } from '../../contract/ids.js';
import { RunRequest } from '../../contract/run.js';
import { CHARACTER_LIMITS } from '../../contract/sizes.js';

const { thread_id: THREAD_ID } = CHARACTER_LIMITS;

/** What the runtime sets itself cannot be said from outside. */
export const StartRequest = RunRequest.omit({ parent: true, thread: true, tool_state: true, signal_live: true }).extend(
  {
    thread_id: z
      .string()
      .max(THREAD_ID, `must have at most ${THREAD_ID} characters`)
      .regex(THREAD_NAME_PATTERN, 'may hold letters, digits and . _ : @ | + / = -')
      .optional(),
  },
);

const text = z.string().min(1, 'must not be empty');
const answered_by = z.string().exactOptional();

export const Clarification = z.strictObject({
  await_id: text,
  answer: text,
  answered_by,
}) satisfies z.ZodType<ClarificationAnswer>;

export const ToolResults = z.strictObject({
  await_id: text.exactOptional(),
  results: z
    .array(
      z.strictObject({
        tool_call_id: text,
        status: z.enum(['success', 'error', 'declined']),
        output: z.unknown().exactOptional(),
        runtime_ms: z.number().nonnegative().exactOptional(),
      }),
    )
    .min(1, 'must hold at least one result'),
  answered_by,
}) satisfies z.ZodType<ToolResultsAnswer>;

export const Approval = z.strictObject({
  await_id: text,
  decision: z.enum(['approve', 'deny']),
  digest: text,
  note: z.string().exactOptional(),
  answered_by,
}) satisfies z.ZodType<ApprovalAnswer>;

/** The reasons that somebody outside can have. */
export const Cancel = z
  .strictObject({
    reason: z.enum(['user_requested', 'deadline', 'thread_deleted']).exactOptional(),
    note: z.string().exactOptional(),
  })
  .default({});

export const Accepted = z.strictObject({ run_id: z.string(), accepted: z.literal(true) });
