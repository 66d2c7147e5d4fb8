/**
 * Live events: what happens inside an activity, told at once and not kept. What is worth keeping is committed when
 * the activity returns, under the same `live_id`. A delta also has `block_id`, `attempt` and `index`.
 */
import { z } from 'zod';
import { provenance } from './events.js';
import type { DurableEvent } from './events.js';

function live<T extends string, S extends z.core.$ZodLooseShape>(type: T, about: string, shape: S) {
  return z.object({ type: z.literal(type), live_id: z.string(), ...provenance, ...shape }).describe(about);
}

const start = { block_id: z.string(), attempt: z.number().int() };
/**
 * `index` counts the chunks of one block and attempt from 0; a merged chunk has the index of its last part. `offset` is
 * where in the block's text the chunk begins, in UTF-16 units: whoever holds less than that has missed something.
 */
const chunk = { ...start, index: z.number().int(), offset: z.number().int().optional(), text: z.string() };

export const LiveEvent = z.discriminatedUnion('type', [
  live('thinking_start', 'Reasoning begins.', start),
  live('thinking_chunk', 'A piece of reasoning.', chunk),
  live('text_start', 'Text begins.', start),
  live('text_chunk', 'A piece of text.', chunk),
  live('summary_start', 'The text of a synthesis pass begins.', start),
  live('summary_chunk', 'A piece of it.', chunk),
  live('tool_input_chunk', 'A piece of a call’s arguments, as the model writes them.', { ...chunk, name: z.string() }),
  live('tool_output_chunk', 'A piece of a tool’s output, as it is made.', chunk),
  live('tool_progress', 'A tool says how far it is.', {
    message: z.string(),
    fraction: z.number().min(0).max(1).optional(),
  }),
  live('tool_retry', 'A tool is tried again.', { attempt: z.number().int(), reason: z.string() }),
  live('attempt_retracted', 'All that attempts of this step up to this one showed is void.', {
    attempt: z.number().int(),
  }),
]);
export type LiveEvent = z.infer<typeof LiveEvent>;

/** What a stream says besides events; it has no `seq` and is in no log. */
export const StreamMarker = z.discriminatedUnion('type', [
  z
    .object({
      type: z.literal('stream_ended'),
      run_id: z.string(),
      reason: z.enum(['terminated', 'timed_out', 'not_found', 'engine_failed']),
      message: z.string(),
    })
    .describe('The run ended without a `run_completed`: nothing more will come.'),
  z
    .object({ type: z.literal('stream_failed'), run_id: z.string(), code: z.string(), message: z.string() })
    .describe('The run cannot be read from here any more, whatever becomes of it; `code` is one of the errors.'),
  z
    .object({ type: z.literal('live_dropped'), run_id: z.string(), dropped: z.number().int() })
    .describe('This reader was too slow; live events were left out, durable ones never are.'),
]);
export type StreamMarker = z.infer<typeof StreamMarker>;

/** What a reader of a run gets. */
export type StreamEvent = DurableEvent | LiveEvent | StreamMarker;
