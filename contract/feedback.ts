/** What a reader thinks of a message: the shapes of the published Python client (`roboto.ai.agent_thread.feedback`). */
import { z } from 'zod';
import { CHARACTER_LIMITS } from './sizes.js';

const NEGATIVE = ['incorrect', 'incomplete', 'tool_failure', 'refused_valid_request', 'formatting', 'slow', 'unsafe'];
const POSITIVE = ['correct', 'helpful', 'good_tool_use'];
const FITTING = { negative: [...NEGATIVE, 'other'], positive: [...POSITIVE, 'other'] };

const Sentiment = z.enum(['positive', 'negative']);
const Category = z.enum([...NEGATIVE, ...POSITIVE, 'other']);

export const SubmitFeedback = z
  .strictObject({
    sentiment: Sentiment,
    /** A set: kept sorted, each once. */
    categories: z
      .array(Category)
      .default([])
      .overwrite((categories) => [...new Set(categories)].toSorted()),
    notes: z
      .string()
      .max(CHARACTER_LIMITS.feedback_notes)
      .nullable()
      .default(null)
      .overwrite((notes) => (notes?.trim() === '' ? null : notes)),
  })
  .superRefine(({ sentiment, categories, notes }, context) => {
    const misfits = categories.filter((category) => !FITTING[sentiment].includes(category));
    if (misfits.length > 0) {
      const message = `${misfits.join(', ')}: not for ${sentiment} feedback, which takes ${FITTING[sentiment].join(', ')}`;
      context.addIssue({ code: 'custom', path: ['categories'], message });
    }
    if (categories.includes('other') && notes === null) {
      context.addIssue({ code: 'custom', path: ['notes'], message: 'must say what "other" is' });
    }
  });
export type SubmitFeedback = z.infer<typeof SubmitFeedback>;

export const FeedbackRecord = z.looseObject({
  feedback_id: z.string(),
  thread_id: z.string(),
  message_sequence_num: z.number().int().nonnegative(),
  org_id: z.string(),
  created: z.iso.datetime(),
  created_by: z.string(),
  modified: z.iso.datetime(),
  modified_by: z.string(),
  sentiment: Sentiment,
  categories: z.array(z.string()),
  notes: z.string().nullable(),
});
export type FeedbackRecord = z.infer<typeof FeedbackRecord>;

/** Version history: 1 first shape. */
export const FeedbackFile = z.object({ version: z.literal(1), feedback: FeedbackRecord });
export type FeedbackFile = z.infer<typeof FeedbackFile>;
