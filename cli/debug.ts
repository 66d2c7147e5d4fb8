/** `--debug`, or PERDURE_DEBUG: stacks of errors, and what lies behind a reason. */

export function isDebug(): boolean {
  return (process.env['PERDURE_DEBUG'] ?? '') !== '';
}

/** The flag counts like the variable, for all that look. */
export function setDebug(): void {
  process.env['PERDURE_DEBUG'] = '1';
}
