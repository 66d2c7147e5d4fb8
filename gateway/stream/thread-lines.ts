/**
 * The turns of a thread as text on the wire, one after another: each is the stream of its run, with cursors that
 * resume the thread.
 */
import type { TurnReader } from '../../client/index.js';
import { goneTurn } from '../../client/threads/thread-stream.js';
import { PerdureError } from '../../contract/errors.js';
import type { Ending, ThreadStreamEnd, TurnEnd } from '../../contract/stream-lines.js';
import type { AcknowledgeTold } from './acknowledge-told.js';
import { openRun } from './open-run.js';
import type { OpenRun, RunOptions } from './open-run.js';
import type { BodySource } from './response-body.js';
import { beginningOf, writeTurnCursor } from './turn-cursor.js';
import type { TurnPlace } from './turn-cursor.js';

export interface ThreadLinesOptions extends Omit<RunOptions, 'runId' | 'place' | 'beforeTelling'> {
  threadId: string;
  turns: TurnReader;
  /** Where to begin. */
  place: TurnPlace;
  acknowledge?: AcknowledgeTold | undefined;
}

export interface ThreadLines extends BodySource {
  /** Opens the first turn where it has begun: what cannot be resumed is refused here. */
  begin(): Promise<void>;
  close(): void;
}

/** What is to be said of a turn. */
interface OpenTurn extends Pick<OpenRun, 'next' | 'close'> {
  run_id: string;
}

export function createThreadLines(options: ThreadLinesOptions): ThreadLines {
  const { threadId, turns, request, frame, signal, acknowledge } = options;
  let { place } = options;
  let turn: OpenTurn | undefined;

  /** Undefined where the turn is open now, else the last word. */
  async function open(follow: boolean): Promise<ThreadStreamEnd | undefined> {
    const next = await turns.turn(place.turn, { follow, signal });
    if (next === undefined) return lastWord({ reason: 'tail' }, place);
    if (next.state === 'ended') {
      const { reason, message } = next.end;
      return lastWord({ reason, message }, place);
    }
    const { run_id } = next;
    turn = { run_id, ...(next.state === 'gone' ? gone(run_id, place, options) : await openTurn(run_id, next.open)) };
    return undefined;
  }

  function openTurn(runId: string, isOpen: boolean): Promise<OpenRun> {
    const { line, isMarkerRead } = place;
    const from = line === undefined ? { seq: 0 } : { cursor: line };
    const { turn: number } = place;
    return openRun({
      ...options,
      runId,
      // One that is over ends by itself, and says how.
      request: { ...request, from, follow: request.follow || !isOpen },
      place: {
        isMarkerRead,
        within: (cursor) => writeTurnCursor({ turn: number, line: cursor, isMarkerRead: false }),
        behindMarker: (cursor) => writeTurnCursor({ turn: number, line: cursor, isMarkerRead: true }),
      },
      ...(acknowledge === undefined ? {} : { beforeTelling: (event) => acknowledge(number, event) }),
    });
  }

  function lastWord(ending: ThreadEnding, at: TurnPlace | string): ThreadStreamEnd {
    const cursor = typeof at === 'string' ? at : writeTurnCursor(at);
    return { perdure: 'end', ...ending, thread_id: threadId, cursor };
  }

  return {
    async begin() {
      // A turn that has not begun, or a thread that ended just now, is told when it is asked for.
      await open(false);
    },
    close: () => turn?.close(),
    async next() {
      const end = turn === undefined ? await open(request.follow) : undefined;
      if (end?.reason === 'tail' && request.follow) throw cutOff(threadId);
      if (end !== undefined) return { text: frame.aside(end), done: true };
      const current = turn as unknown as OpenTurn;
      const { text, ended } = await current.next();
      if (ended === undefined) return { text, done: false };
      const { ending, cursor } = ended;
      if (ending.reason === 'tail') return { text: text + frame.aside(lastWord(ending, cursor)), done: true };
      const number = place.turn;
      place = beginningOf(number + 1);
      turn = undefined;
      const said: TurnEnd = {
        perdure: 'turn_ended',
        ...ending,
        thread_id: threadId,
        turn: number,
        run_id: current.run_id,
        cursor: writeTurnCursor(place),
      };
      return { text: text + frame.aside(said), done: false };
    },
  };
}

type ThreadEnding = ThreadStreamEnd extends infer End
  ? End extends ThreadStreamEnd
    ? Omit<End, 'perdure' | 'thread_id' | 'cursor'>
    : never
  : never;

/** A turn whose run is not there any more: a marker in its place. */
function gone(
  runId: string,
  { turn, isMarkerRead }: TurnPlace,
  { threadId, dialect, request, frame, now }: ThreadLinesOptions,
): Omit<OpenTurn, 'run_id'> {
  const marker = goneTurn(runId);
  const { reason, message } = marker;
  const told = dialect.tell(dialect.begin({ commit: request.commit, nested: false, clock: now }), marker);
  const isLast = (n: number) => n === told.lines.length - 1;
  const lines = told.lines.map(({ data }, n) =>
    frame.line({
      data,
      cursor: () => writeTurnCursor({ turn, isMarkerRead: isLast(n) }),
      identity: () => ({ run_id: runId, thread_id: threadId }),
    }),
  );
  const warnings = told.warnings.map((warning) => frame.aside({ perdure: 'warning', run_id: runId, message: warning }));
  const text = isMarkerRead ? '' : lines.join('');
  const ending: Ending = { reason, message };
  const cursor = writeTurnCursor({ turn, isMarkerRead: true });
  return {
    close() {},
    next: () => Promise.resolve({ text: text + warnings.join(''), ended: { ending, cursor } }),
  };
}

function cutOff(threadId: string): PerdureError {
  return new PerdureError(
    'server_unreachable',
    `the stream of thread ${threadId} was cut here, and the thread goes on`,
  );
}
