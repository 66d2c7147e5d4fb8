/** One run from its start to its end, on a view, with a hand on Ctrl-C. */
import { isPerdureError } from '../contract/errors.js';
import { messageOf } from './command-error.js';
import { EXIT } from './exit-codes.js';
import type { Interrupts } from './interrupts.js';
import { keepFile } from './run-files.js';
import { showRun } from './show-run.js';
import type { ShowOptions } from './show-run.js';

export interface FollowOptions extends ShowOptions {
  interrupts: Interrupts;
  /** Where copies of its files go. */
  saveFiles: string | undefined;
}

export interface Followed {
  exitCode: number;
  /** We left before the run ended. */
  detached: boolean;
}

export async function followRun(options: FollowOptions): Promise<Followed> {
  const { session, runId, view, interrupts, saveFiles } = options;
  const { runs } = session.client;
  const leaving = new AbortController();
  let broken: { error: unknown } | undefined;
  session.broken.catch((error: unknown) => {
    broken = { error };
    leaving.abort();
  });
  const cancel = () => {
    view.hint('canceling: waiting for the run to end; Ctrl-C again detaches');
    runs.cancel(runId, { reason: 'user_requested', note: 'Ctrl-C' }).catch((error: unknown) => {
      // It ended by itself in the meantime, and the stream says how.
      if (!(isPerdureError(error) && error.code === 'run_ended')) view.note(`the cancel failed: ${messageOf(error)}`);
    });
  };
  interrupts.handle(cancel, () => leaving.abort());
  process.stdout.on('error', () => leaving.abort());

  const show = showRun(options);
  try {
    for await (const event of runs.stream(runId, { signal: leaving.signal })) {
      const exitCode = show.event(event);
      if (event.type === 'file_generated') view.note(await keepFile(session.files, event, saveFiles));
      if (exitCode !== undefined) return { exitCode, detached: false };
    }
  } finally {
    show.stop();
  }
  if (broken !== undefined) throw broken.error;
  return { exitCode: EXIT.interrupted, detached: true };
}
