/**
 * The parameters of a profile that every vendor has under another name. They are written in OpenAI's form (but
 * `max_output_tokens`); all others are the vendor's own and go to it as they are.
 */
import { z } from 'zod';
import { PerdureError } from '../contract/errors.js';
import { JSONSchema7 } from '../contract/completion.js';

const Shared = z.looseObject({
  max_output_tokens: z.number().int().positive().optional(),
  stop: z.union([z.string().transform((one) => [one]), z.array(z.string())]).optional(),
  reasoning_effort: z.string().optional(),
  response_format: z
    .object({ type: z.literal('json_schema'), json_schema: z.object({ schema: JSONSchema7 }) })
    .transform(({ json_schema: { schema } }) => ({ schema }))
    .optional(),
});

export function readParameters(parameters: Readonly<Record<string, unknown>>, provider: string) {
  const parsed = Shared.safeParse(parameters);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
  const what = `The parameters of the model profile cannot be sent to ${provider}: ${issues.join('; ')}`;
  throw new PerdureError('model_bad_request', what, { provider });
}
