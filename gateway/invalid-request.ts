/** What is wrong with a request, field by field: so much of it as somebody reads. */
import { PerdureError } from '../contract/errors.js';
import type { ErrorIssue } from '../contract/errors.js';
import { NAMED_ISSUES } from '../contract/sizes.js';

export function invalidRequest(what: string, all: readonly ErrorIssue[]): PerdureError {
  const issues = all.slice(0, NAMED_ISSUES);
  const said = issues.map(({ path, message }) => `${path}: ${message}`).join('; ');
  const more = all.length > issues.length ? `; and ${all.length - issues.length} more` : '';
  return new PerdureError('invalid_request', `${what}: ${said}${more}`, { issues });
}
