/** How a tool says what went wrong. Any other thrown error is `internal`, and retried where the tool is idempotent. */
import type { ToolFailure, ToolFailureKind } from '../contract/tools.js';

export interface ToolErrorOptions {
  retryable?: boolean;
  cause?: unknown;
  issues?: ToolFailure['issues'];
}

export class ToolError extends Error {
  override readonly name = 'ToolError';
  readonly kind: ToolFailureKind;
  /** Try again (idempotent tools only). */
  readonly retryable: boolean;
  /** What is wrong with the arguments, one by one. */
  readonly issues: ToolFailure['issues'];

  constructor(kind: ToolFailureKind, message: string, options: ToolErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.kind = kind;
    this.retryable = options.retryable ?? (kind === 'rate_limited' || kind === 'timeout');
    this.issues = options.issues ?? [];
  }
}

export function isToolError(error: unknown): error is ToolError {
  return error instanceof Error && error.name === 'ToolError' && 'kind' in error;
}
