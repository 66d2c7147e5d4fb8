/** A page of runs, and what it is asked by. */
import { z } from 'zod';
import type { RunPage as Page } from '../../client/index.js';
import { RunPhase } from '../../contract/run.js';

export const RunPage = z.strictObject({
  runs: z.array(
    z.strictObject({
      run_id: z.string(),
      agent_id: z.string().exactOptional(),
      phase: z.string().exactOptional(),
      thread_id: z.string().exactOptional(),
      created_by: z.string().exactOptional(),
      engine_status: z.enum(['running', 'completed', 'failed', 'canceled', 'terminated', 'timed_out']),
      created_at: z.string(),
      ended_at: z.string().exactOptional(),
    }),
  ),
  next_cursor: z.string().exactOptional(),
}) satisfies z.ZodType<Page>;

const time = z.iso.datetime({ offset: true, error: 'must be a time like 2026-01-31T12:00:00Z' });

export const RunQuery = z.strictObject({
  agent_id: z.string().optional(),
  phase: RunPhase.optional(),
  thread_id: z.string().optional(),
  created_after: time.optional(),
  created_before: time.optional(),
  limit: z
    .string()
    .regex(/^([1-9]|[1-9]\d|1\d\d|200)$/, 'must be a number from 1 to 200')
    .optional(),
  cursor: z.string().optional(),
});
