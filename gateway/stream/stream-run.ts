/** A run, or a tree of runs, as a streaming response in a dialect. Refusals are thrown, before anything is sent. */
import type { Runs } from '../../client/index.js';
import { isPerdureError, PerdureError } from '../../contract/errors.js';
import type { StreamEnd } from '../../contract/stream-lines.js';
import { DIALECTS } from '../../dialects/index.js';
import { createFrame } from './frame.js';
import { readLineCursor } from './line-cursor.js';
import { openRun } from './open-run.js';
import { respond } from './respond.js';
import type { ReaderContext } from './respond.js';
import { resolveRequest } from './stream-request.js';
import type { Asked, Dialects } from './stream-request.js';

export interface StreamContext extends ReaderContext, Asked {
  runs: Runs;
  runId: string;
}

export async function streamRun(context: StreamContext, dialects: Dialects = DIALECTS): Promise<Response> {
  const { runs, runId, signal, now = Date.now } = context;
  const resolved = resolveRequest(context, dialects);
  const { request } = resolved;
  const frame = createFrame(request);
  const run = await openRun({ ...resolved, runs, runId, frame, signal, now });
  const source = {
    async next() {
      const { text, ended } = await run.next();
      if (ended === undefined) return { text, done: false };
      const { ending, cursor } = ended;
      const end: StreamEnd = { perdure: 'end', ...ending, run_id: runId, cursor };
      return { text: text + frame.aside(end), done: true };
    },
  };
  const cancel = request.cancelOnDisconnect ? () => cancelRun(runs, runId) : undefined;
  return respond(context, { source, frame, tail: run.tail, cancel, close: () => run.close() });
}

async function cancelRun(runs: Runs, runId: string): Promise<void> {
  const note = 'the reader disconnected, and had asked for this';
  try {
    await runs.cancel(runId, { reason: 'user_requested', note });
  } catch (error) {
    // It ended by itself in the meantime.
    if (!(isPerdureError(error) && error.code === 'run_ended')) throw error;
  }
}

/** What cannot be told is refused before there is a run to tell of. One that is yet to begin has nothing to resume. */
export function checkAsked(asked: Asked, runId: string | undefined): void {
  const { request, profile } = resolveRequest(asked);
  const { from } = request;
  if (runId === undefined && ('cursor' in from || from.seq > 0)) {
    const why = 'the run begins with this request, so its stream begins at 0';
    throw new PerdureError('invalid_request', `from: ${why}`, { issues: [{ path: 'from', message: why }] });
  }
  if (runId !== undefined && 'cursor' in from) readLineCursor(from.cursor, runId, profile.children === 'flattened');
}
