/** The one shape of every error. */
import { z } from 'zod';
import { ERRORS } from '../../contract/errors.js';
import type { ErrorCode } from '../../contract/errors.js';

export const ErrorBody = z.strictObject({
  error: z.strictObject({
    code: z.enum(Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]]),
    message: z.string(),
    issues: z.array(z.strictObject({ path: z.string(), message: z.string() })).exactOptional(),
    next_step: z.string().exactOptional(),
    request_id: z.string(),
  }),
});
export type ErrorBody = z.infer<typeof ErrorBody>;
