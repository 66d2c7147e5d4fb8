/**
 * The lines of a stream, over as many connections as it takes.
 *
 * H1  It ends only where the gateway says how the stream ended. A connection that ends without that was cut.
 * H2  After a cut it goes on behind the last line that was delivered: every durable line comes once, in order.
 * H3  What the gateway refuses (4xx, and errors of its own) is thrown; what may pass (network, 502, 503, 504, and
 *     429 of who comes back with many others) is tried again, ever more slowly, until it has failed for too long.
 * H4  A connection on which not even a heartbeat comes is dead, whatever the socket says.
 */
import { isPerdureError, PerdureError } from '../../contract/errors.js';
import type {
  StreamEnd,
  StreamEnvelope,
  StreamWarning,
  ThreadStreamEnd,
  TurnEnd,
} from '../../contract/stream-lines.js';
import type { GatewayCalls, Query } from './gateway-calls.js';
import { readLines } from './read-lines.js';

export interface ReconnectOptions {
  /** How long it may go on without a connection before it gives up; 2 minutes if absent. */
  giveUpAfterMs?: number;
  /** A connection that is silent for so long is taken for dead; a minute if absent. The gateway beats every 15 s. */
  silenceMs?: number;
  /** A stream has been without a connection for some seconds, and why; or it has one again. */
  onConnection?(state: 'lost' | 'back', why: string): void;
}

export interface LinesRequest extends ReconnectOptions {
  calls: GatewayCalls;
  path: string;
  query: Query;
  /** The last line that the reader has; undefined: none. */
  cursor: () => string | undefined;
  signal: AbortSignal;
}

export type StreamLine = StreamEnvelope | StreamWarning | StreamEnd | TurnEnd | ThreadStreamEnd;

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;
const GIVE_UP_AFTER_MS = 120_000;
const SILENCE_MS = 60_000;
/** A proxy that cuts a connection, or a gateway that restarts, is back before anybody has to hear of it. */
const LOST_AFTER_MS = 3_000;
/** The limits of requests and of open streams, and those of a proxy. */
const TOO_MANY = 429;

export async function* resumedLines(request: LinesRequest): AsyncGenerator<StreamLine, undefined> {
  const { signal, giveUpAfterMs = GIVE_UP_AFTER_MS } = request;
  let failures = 0;
  let failingSince: number | undefined;
  let wasOpen = false;
  let isLost = false;
  while (!signal.aborted) {
    let failure: unknown = new PerdureError('server_unreachable', `the stream ${request.path} was cut`);
    try {
      // One that was opened is a success, also where a paused run has nothing to say until a proxy cuts it.
      const opened = () => {
        failingSince = undefined;
        wasOpen = true;
        if (isLost) request.onConnection?.('back', '');
        isLost = false;
      };
      const heard = () => (failures = 0);
      for await (const line of oneConnection(request, opened, heard)) {
        yield line;
        if ('perdure' in line && line.perdure === 'end') return;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!mayPass(error, wasOpen)) throw error;
      failure = error;
    }
    failingSince ??= Date.now();
    if (Date.now() - failingSince >= giveUpAfterMs) throw failure;
    const wait = pauseAfter(failures++, failure);
    if (!isLost && Date.now() + wait - failingSince >= LOST_AFTER_MS) {
      isLost = true;
      request.onConnection?.('lost', failure instanceof Error ? failure.message : String(failure));
    }
    await pause(wait, signal);
  }
}

async function* oneConnection(
  request: LinesRequest,
  onOpen: () => void,
  onHeard: () => void,
): AsyncGenerator<StreamLine, undefined> {
  const { calls, path, query, cursor, signal, silenceMs = SILENCE_MS } = request;
  const connection = new AbortController();
  const leave = () => connection.abort(signal.reason);
  signal.addEventListener('abort', leave, { once: true });
  if (signal.aborted) leave();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const wait = () => {
    clearTimeout(timer);
    timer = setTimeout(() => connection.abort(new Error(`nothing was heard for ${silenceMs} ms`)), silenceMs);
  };
  wait();
  try {
    const at = cursor();
    const from = at === undefined ? {} : { from: at };
    const asked = { ...query, ...from, format: 'ndjson', envelope: true, trailer: true };
    const { body } = await calls.open(path, asked, connection.signal);
    onOpen();
    const heard = () => {
      wait();
      onHeard();
    };
    if (body !== null) for await (const line of readLines(body, heard)) yield parse(line, path);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', leave);
    connection.abort();
  }
}

function parse(line: string, path: string): StreamLine {
  try {
    return JSON.parse(line) as StreamLine;
  } catch (error) {
    const what = `the stream ${path} has a line that is no JSON: ${line.slice(0, 100)}`;
    throw new PerdureError('internal', what, { cause: error });
  }
}

/** Errors that are not ours come from the socket. Whoever had a stream is not refused for good by "too many". */
function mayPass(error: unknown, wasOpen: boolean): boolean {
  if (!isPerdureError(error) || error.code === 'server_unreachable') return true;
  return wasOpen && error.http_status === TOO_MANY;
}

function pauseAfter(failures: number, failure: unknown): number {
  const asked = isPerdureError(failure) ? (failure.retry_after_ms ?? 0) : 0;
  const backoff = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** failures);
  // Not all at the same moment, where a gateway comes back to a crowd.
  return Math.max(asked, backoff * (0.5 + Math.random() / 2));
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    signal.addEventListener('abort', done, { once: true });
    if (signal.aborted) done();
  });
}
