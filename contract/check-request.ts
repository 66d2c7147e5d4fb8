/** The one check of a run's request, made where it enters: by the client before anything is written, and by the worker. */
import { checkSizes } from './check-sizes.js';
import { PerdureError } from './errors.js';
import { RunRequest } from './run.js';
import { INPUT_LIMIT_BYTES, utf8Bytes } from './sizes.js';

export function checkRequest(request: unknown): RunRequest {
  const checked = checkShape(request);
  const { input } = checked;
  const bytes = utf8Bytes(typeof input === 'string' ? input : JSON.stringify(input));
  if (bytes > INPUT_LIMIT_BYTES) {
    throw new PerdureError(
      'input_too_large',
      `the input has ${bytes} bytes; at most ${INPUT_LIMIT_BYTES} can be taken`,
    );
  }
  // What a child or a turn inherits was measured where it entered, by the table of that time.
  if (checked.parent === undefined && checked.thread === undefined) checkSizes(checked);
  return checked;
}

/** Before its media parts became references, which decides how large it is. */
export function checkShape(request: unknown): RunRequest {
  const parsed = RunRequest.safeParse(request);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'request'}: ${issue.message}`);
  throw new PerdureError('invalid_request', `the run's request is invalid: ${issues.join('; ')}`);
}
