/** How the command ends, by outcome. `--help` prints this table, `docs/cli.md` repeats it. */
import type { ErrorCode } from '../contract/errors.js';

export const EXIT = {
  success: 0,
  failed: 1,
  usage: 2,
  canceled: 3,
  engine_end: 4,
  unreachable: 5,
  interrupted: 130,
} as const;

export const EXIT_CODES_HELP = `
Exit codes:
  0    the run succeeded, or the command did what it was asked
  1    the run failed, or the command did
  2    wrong usage, configuration or request
  3    the run was canceled
  4    the run ended in the engine without an end in its log (terminated, timed out)
  5    the Temporal server, its workers, the database or the bucket cannot be reached
  130  interrupted: a second Ctrl-C, or one before there was a run`;

const BY_CODE: Partial<Record<ErrorCode, number>> = {
  invalid_request: EXIT.usage,
  invalid_config: EXIT.usage,
  input_too_large: EXIT.usage,
  unknown_agent: EXIT.usage,
  unknown_profile: EXIT.usage,
  unknown_run: EXIT.usage,
  unknown_thread: EXIT.usage,
  idempotency_conflict: EXIT.usage,
  unauthenticated: EXIT.usage,
  forbidden: EXIT.usage,
  run_exists: EXIT.usage,
  server_unreachable: EXIT.unreachable,
  server_refused: EXIT.unreachable,
  database_unusable: EXIT.usage,
  database_unreachable: EXIT.unreachable,
  storage_unusable: EXIT.usage,
  storage_unreachable: EXIT.unreachable,
  encryption_keys_unreachable: EXIT.unreachable,
};

export function exitCodeOf(code: ErrorCode): number {
  return BY_CODE[code] ?? EXIT.failed;
}
