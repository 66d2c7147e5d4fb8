/** The last word of a command that failed: plainly where we know what happened, with a stack where we do not. */
import { CommanderError } from 'commander';
import { isPerdureError } from '../contract/errors.js';
import { CommandError } from './command-error.js';
import { EXIT, exitCodeOf } from './exit-codes.js';
import { stylesFor } from './terminal.js';

/** Prints the error and gives the exit code. */
export function reportError(error: unknown, debug: boolean): number {
  // Commander has printed its own message, or the help that was asked for.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.success : EXIT.usage;
  const expected = error instanceof CommandError || isPerdureError(error);
  const { red } = stylesFor(process.stderr);
  const text = expected && !debug ? error.message : withStack(error);
  process.stderr.write(`${red('error:')} ${text}\n`);
  if (error instanceof CommandError) return error.exitCode;
  return isPerdureError(error) ? exitCodeOf(error.code) : EXIT.failed;
}

function withStack(error: unknown): string {
  if (!(error instanceof Error)) return `something that is no Error was thrown: ${String(error)}`;
  const own = error.stack ?? error.message;
  return error.cause === undefined ? own : `${own}\ncaused by: ${withStack(error.cause)}`;
}
