/** One run on a view while its events come: what it waits for is asked or told, a silence is explained, its end shown. */
import type { StreamEvent } from '../client/index.js';
import { errorOf } from '../contract/errors.js';
import { EXIT } from './exit-codes.js';
import { handlePauses } from './handle-pauses.js';
import type { LineReader } from './keyboard/line-reader.js';
import type { RunSession } from './run-session.js';
import type { ServerSettings } from './server-settings.js';
import { watchForSilence } from './watch-for-silence.js';
import type { RunView } from './view/run-view.js';
import { summaryOf } from './view/tell.js';

const EXIT_BY_STATUS = { success: EXIT.success, failed: EXIT.failed, canceled: EXIT.canceled } as const;

export interface ShowOptions {
  session: RunSession;
  settings: ServerSettings;
  runId: string;
  view: RunView;
  /** Where somebody can type answers here. */
  reader: LineReader | undefined;
  /** With which another command finds the server. */
  flags: string;
}

export interface RunShow {
  /** The exit code, once the run has ended. Throws where it cannot be read any more. */
  event(event: StreamEvent): number | undefined;
  /** Until the pauses that the events so far spoke of are shown. */
  told(): Promise<void>;
  /** Nothing more is shown. */
  stop(): void;
}

export function showRun({ session, settings, runId, view, reader, flags }: ShowOptions): RunShow {
  const say = (line: string) => view.note(line);
  const silence =
    session.embedded || session.temporal === undefined
      ? undefined
      : watchForSilence({ client: session.temporal, runId, taskQueue: settings.taskQueue, say });
  const pauses = handlePauses({ runs: session.client.runs, runId, view, reader, flags });
  let steps = 0;
  let over = false;

  function end(summary?: Parameters<RunView['end']>[0]): void {
    if (over) return;
    over = true;
    silence?.stop();
    pauses.stop();
    view.end(summary);
  }

  return {
    event(event) {
      silence?.heard();
      view.event(event);
      pauses.event(event);
      if (event.type === 'step_started') steps = event.step_number;
      if (event.type === 'run_completed') {
        end(summaryOf(event, steps));
        return EXIT_BY_STATUS[event.status];
      }
      if (event.type === 'stream_ended') {
        end({ tone: 'bad', text: `${event.reason} · ${runId}`, reason: event.message });
        return EXIT.engine_end;
      }
      if (event.type === 'stream_failed') throw errorOf(event);
      return undefined;
    },
    told: () => pauses.told(),
    stop: () => end(),
  };
}
