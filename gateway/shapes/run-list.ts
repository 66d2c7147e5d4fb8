/** A page of runs, and what it is asked by. */
import { z } from 'zod';
import type { RunPage as Page } from '../../client/index.js';
import { RunPhase } from '../../contract/run.js';

const count = z.number().int();

/** What only the archive says, of runs that have ended. */
const ofArchive = {
  status: z.enum(['success', 'failed', 'canceled', 'terminated', 'timed_out', 'engine_failed']).exactOptional(),
  steps: count.exactOptional(),
  tool_calls: count.exactOptional(),
  input_tokens: count.exactOptional(),
  output_tokens: count.exactOptional(),
  cost_usd: z.number().exactOptional().describe('Absent where no price is known.'),
  model: z.string().exactOptional(),
  failure_code: z.string().exactOptional(),
  input_start: z.string().exactOptional().describe('How its input begins, where the profile shows inputs.'),
};

export const RunPage = z.strictObject({
  runs: z.array(
    z.strictObject({
      run_id: z.string(),
      agent_id: z.string().exactOptional(),
      phase: z.string().exactOptional(),
      thread_id: z.string().exactOptional(),
      created_by: z.string().exactOptional(),
      waiting: z
        .enum(['clarification', 'external_tools', 'approval'])
        .exactOptional()
        .describe('What the run, or one below it, has waited for longest; absent where nothing waits.'),
      engine_status: z.enum(['running', 'completed', 'failed', 'canceled', 'terminated', 'timed_out']),
      created_at: z.string(),
      ended_at: z.string().exactOptional(),
      ...ofArchive,
    }),
  ),
  next_cursor: z.string().exactOptional(),
}) satisfies z.ZodType<Page>;

const time = z.iso.datetime({ offset: true, error: 'must be a time like 2026-01-31T12:00:00Z' });

const cost = z
  .string()
  .regex(/^\d{1,9}(\.\d{1,9})?$/, 'must be a sum of dollars like 0.25')
  .optional();

export const RunQuery = z.strictObject({
  archived: z
    .enum(['true', 'false'], 'must be true or false')
    .optional()
    .describe('true: only runs that have ended, from the archive, also those that Temporal has forgotten.'),
  status: ofArchive.status.unwrap().optional().describe('Of the archive, as all that follow up to max_cost_usd.'),
  tool_id: z.string().optional(),
  text: z
    .string()
    .max(1_000)
    .optional()
    .describe('All of these words, or words that begin so, in the input or the answer; for profiles that show both.'),
  min_cost_usd: cost,
  max_cost_usd: cost,
  created_by: z.string().optional(),
  profile: z.string().optional(),
  agent_id: z.string().optional(),
  phase: RunPhase.optional(),
  thread_id: z.string().optional(),
  waiting: z.enum(['true', 'false'], 'must be true or false').optional(),
  created_after: time.optional(),
  created_before: time.optional(),
  limit: z
    .string()
    .regex(/^([1-9]|[1-9]\d|1\d\d|200)$/, 'must be a number from 1 to 200')
    .optional(),
  cursor: z.string().optional(),
});
