/** The one check of a run's request, made where it enters: by the client before anything is written, and by the worker. */
import { PerdureError } from './errors.js';
import { RunRequest } from './run.js';
import { INLINE_LIMIT_BYTES, INPUT_LIMIT_BYTES, utf8Bytes } from './sizes.js';

export function checkRequest(request: unknown): RunRequest {
  const parsed = RunRequest.safeParse(request);
  if (!parsed.success) {
    const issues = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'request'}: ${issue.message}`);
    throw new PerdureError('invalid_request', `the run's request is invalid: ${issues.join('; ')}`);
  }
  const { input } = parsed.data;
  const bytes = utf8Bytes(typeof input === 'string' ? input : JSON.stringify(input));
  if (bytes > INPUT_LIMIT_BYTES) {
    throw new PerdureError(
      'input_too_large',
      `the input has ${bytes} bytes; at most ${INPUT_LIMIT_BYTES} can be taken`,
    );
  }
  const extra = utf8Bytes(JSON.stringify(parsed.data.metadata ?? {}));
  if (extra > INLINE_LIMIT_BYTES) {
    throw new PerdureError(
      'input_too_large',
      `metadata has ${extra} bytes; at most ${INLINE_LIMIT_BYTES} can be taken`,
    );
  }
  return parsed.data;
}
