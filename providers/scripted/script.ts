/** What a scripted model says: plain JSON, so that a script can travel in a run's input. */
import { z } from 'zod';
import { ERRORS, type ErrorCode } from '../../contract/errors.js';

/** A string is split into words; an array is the deltas themselves. */
const Words = z.union([z.string(), z.array(z.string())]);
const Count = z.number().int().nonnegative();

const ScriptedCall = z.strictObject({
  /** A canonical id, or whatever a model might invent. */
  tool: z.string(),
  /** A string is sent exactly as it is, also when it is no JSON; anything else as its JSON; absent: `{}`. */
  args: z.unknown().optional(),
});

const ScriptedFailure = z.strictObject({
  code: z.enum(Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]]),
  /** How many deltas are sent before; default 0. More than there are: after the last one. */
  after_deltas: Count.optional(),
  retry_after_ms: Count.optional(),
});

const reply = {
  thinking: Words.optional(),
  text: Words.optional(),
  refusal: z.string().optional(),
  tool_calls: z.array(ScriptedCall).optional(),
  /** Default: a quarter of the characters. */
  usage: z.strictObject({ input_tokens: Count, output_tokens: Count }).optional(),
  /** Default: what the reply is. */
  stop_reason: z.string().optional(),
  /** Between two deltas. */
  delay_ms: Count.optional(),
  /** After its deltas it says nothing more until it is aborted. */
  hang: z.literal(true).optional(),
  fail: ScriptedFailure.optional(),
  /** Said instead of the text and the calls when the request allows no tools. */
  synthesis: Words.optional(),
};

const Reply = z.strictObject(reply);
export type Reply = z.infer<typeof Reply>;

const Expectation = z.strictObject({
  /** In the last user message: a text that it contains, or `/a regular expression/i`. */
  last_user: z.string().optional(),
  /** How many tool results have come since the model last spoke. */
  tool_results: Count.optional(),
  /** Tools that are offered; there may be more. */
  tools: z.array(z.string()).optional(),
});
export type Expectation = z.infer<typeof Expectation>;

const Turn = z.strictObject({
  ...reply,
  expect: Expectation.optional(),
  /** What differs in the first, second, … attempt at this call; the last entry is for all further ones. */
  attempts: z.array(Reply).min(1).optional(),
});
export type Turn = z.infer<typeof Turn>;

export const Script = z.strictObject({
  turns: z.array(Turn),
  /** Played, whatever the turn, when the request allows no tools. */
  synthesis: Turn.optional(),
});
export type Script = z.infer<typeof Script>;
