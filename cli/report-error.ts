/** The last word of a command that failed: plainly where we know what happened, with a stack where we do not. */
import { CommanderError } from 'commander';
import { isPerdureError } from '../contract/errors.js';
import { CommandError } from './command-error.js';
import { withoutControls } from './control-sequences.js';
import { EXIT, exitCodeOf } from './exit-codes.js';
import { stylesFor } from './terminal.js';
import { stderr } from './own-output.js';

/** Prints the error and gives the exit code. */
export async function reportError(error: unknown, debug: boolean): Promise<number> {
  // Commander has printed its own message, or the help that was asked for.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.success : EXIT.usage;
  const expected = error instanceof CommandError || isPerdureError(error);
  const explained = expected ? error : await inOurWords(error);
  if (explained !== error) return reportError(explained, debug);
  const { red } = stylesFor(stderr);
  const text = expected && !debug ? error.message : withStack(error);
  stderr.write(`${red('error:')} ${withoutControls(text)}\n`);
  if (error instanceof CommandError) return error.exitCode;
  return isPerdureError(error) ? exitCodeOf(error.code) : EXIT.failed;
}

/** What the Temporal client threw, where nobody has explained it. Loaded late, since help and usage need none of it. */
async function inOurWords(error: unknown): Promise<unknown> {
  const { unreachable } = await import('../client/explain-error.js');
  return unreachable(error, 'to this command') ?? error;
}

function withStack(error: unknown): string {
  if (!(error instanceof Error)) return `something that is no Error was thrown: ${String(error)}`;
  const own = error.stack ?? error.message;
  return error.cause === undefined ? own : `${own}\ncaused by: ${withStack(error.cause)}`;
}
