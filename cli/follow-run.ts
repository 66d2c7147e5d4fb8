/** One run from its start to its end, on a view, with a hand on Ctrl-C. */
import { isPerdureError } from '../contract/errors.js';
import { messageOf } from './command-error.js';
import { EXIT } from './exit-codes.js';
import { handlePauses } from './handle-pauses.js';
import type { Interrupts } from './interrupts.js';
import { keepFile } from './run-files.js';
import type { RunSession } from './run-session.js';
import type { ServerSettings } from './server-settings.js';
import { watchForSilence } from './watch-for-silence.js';
import type { RunView } from './view/run-view.js';
import { summaryOf } from './view/tell.js';

const EXIT_BY_STATUS = { success: EXIT.success, failed: EXIT.failed, canceled: EXIT.canceled } as const;

export interface FollowOptions {
  session: RunSession;
  settings: ServerSettings;
  runId: string;
  view: RunView;
  interrupts: Interrupts;
  /** Somebody can type answers here. */
  interactive: boolean;
  /** Where copies of its files go. */
  saveFiles: string | undefined;
  /** With which another command finds the server. */
  flags: string;
}

export interface Followed {
  exitCode: number;
  /** We left before the run ended. */
  detached: boolean;
}

export async function followRun(options: FollowOptions): Promise<Followed> {
  const { session, settings, runId, view, interrupts, interactive, saveFiles, flags } = options;
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
  const say = (line: string) => view.note(line);
  const silence =
    session.embedded || session.temporal === undefined
      ? undefined
      : watchForSilence({ client: session.temporal, runId, taskQueue: settings.taskQueue, say });

  const pauses = handlePauses({ runs, runId, view, interactive, flags });
  let steps = 0;
  let ended = false;
  try {
    for await (const event of runs.stream(runId, { signal: leaving.signal })) {
      silence?.heard();
      view.event(event);
      pauses.event(event);
      if (event.type === 'file_generated') view.note(await keepFile(session.files, event, saveFiles));
      if (event.type === 'step_started') steps = event.step_number;
      if (event.type === 'run_completed') {
        ended = true;
        pauses.stop();
        view.end(summaryOf(event, steps));
        return { exitCode: EXIT_BY_STATUS[event.status], detached: false };
      }
      if (event.type === 'stream_ended') {
        ended = true;
        view.end({ tone: 'bad', text: `${event.reason} · ${runId}`, reason: event.message });
        return { exitCode: EXIT.engine_end, detached: false };
      }
    }
  } finally {
    silence?.stop();
    pauses.stop();
    if (!ended) view.end();
  }
  if (broken !== undefined) throw broken.error;
  return { exitCode: EXIT.interrupted, detached: true };
}
