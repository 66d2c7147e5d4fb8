/** An error that the command explains by itself: printed without a stack, and with its own exit code. */
import { EXIT } from './exit-codes.js';

export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly exitCode: number;

  constructor(message: string, exitCode: number = EXIT.usage, cause?: unknown) {
    super(message, { cause });
    this.exitCode = exitCode;
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
