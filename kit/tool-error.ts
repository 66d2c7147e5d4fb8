/** How a tool says what went wrong. Any other thrown error is `internal`, and retried where the tool is idempotent. */
import type { ToolFailureKind } from '../contract/tools.js';

export class ToolError extends Error {
  override readonly name = 'ToolError';
  readonly kind: ToolFailureKind;
  /** Try again (idempotent tools only). */
  readonly retryable: boolean;

  constructor(kind: ToolFailureKind, message: string, options: { retryable?: boolean; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.kind = kind;
    this.retryable = options.retryable ?? (kind === 'rate_limited' || kind === 'timeout');
  }
}

export function isToolError(error: unknown): error is ToolError {
  return error instanceof Error && error.name === 'ToolError' && 'kind' in error;
}
