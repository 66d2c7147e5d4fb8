/** `perdure cancel`: tells a run to stop, or the turn of a thread that is going on. */
import { isPerdureError } from '../contract/errors.js';
import type { CancelReason } from '../contract/run.js';
import { CommandError } from './command-error.js';
import { commandName } from './command-name.js';
import { connectToRuns } from './connect-to-runs.js';
import { EXIT } from './exit-codes.js';
import { quoted, repeatFlags } from './repeat-flags.js';
import type { FoundBy } from './repeat-flags.js';
import type { ThreadCommands } from './run-commands.js';
import { stderr, stdout } from './own-output.js';

export interface CancelFlags extends FoundBy {
  reason?: CancelReason;
  note?: string;
}

export function cancel(id: string, { reason = 'user_requested', note, ...flags }: CancelFlags): Promise<number> {
  const request = { reason, ...(note === undefined ? {} : { note }) };
  return connectToRuns(id, flags, async ({ client: { runs }, threads }) => {
    const runId = await runs.cancel(id, request).then(
      () => id,
      async (error: unknown) => {
        const turn = await openTurn(threads, id, error);
        await runs.cancel(turn, request);
        return turn;
      },
    );
    const look = `${commandName()} inspect ${quoted(runId)}${repeatFlags(flags)}`;
    stdout.write(`told to stop: ${runId}\n`);
    stderr.write(`It ends when its tools have stopped. Where it stands: ${look}\n`);
    return EXIT.success;
  });
}

/** The run of a thread's open turn, where the id is that of a thread; else what was wrong before stands. */
async function openTurn(threads: ThreadCommands, id: string, error: unknown): Promise<string> {
  if (!isPerdureError(error) || error.code !== 'unknown_run') throw error;
  const thread = await threads.get(id).catch((missing: unknown) => {
    throw isPerdureError(missing) && missing.code === 'unknown_thread' ? error : missing;
  });
  if (thread.open_run_id !== undefined) return thread.open_run_id;
  throw new CommandError(`No turn is going on in thread ${id}: there is nothing to cancel.`);
}
