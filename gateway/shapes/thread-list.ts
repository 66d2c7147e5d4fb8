/** A page of threads in our own words, and what it is asked by. */
import { z } from 'zod';
import { ThreadSummary } from '../../contract/thread-summary.js';
import type { ThreadSummaryPage as Page } from '../../contract/thread-summary.js';
import { ThreadQuery } from './thread-requests.js';

export const ThreadSummaryPage = z.strictObject({
  threads: z.array(ThreadSummary),
  next_cursor: z.string().exactOptional(),
}) satisfies z.ZodType<Page>;

export const ThreadSummaryQuery = ThreadQuery.omit({ status: true, page_token: true }).extend({
  cursor: z.string().optional(),
});
