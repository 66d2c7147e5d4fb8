/** Where a stream begins: its position, the dialect's state there, and how long the log was. */
import type { Dress } from '../../client/dress-events.js';
import type { Runs, RunStream } from '../../client/index.js';
import { PerdureError } from '../../contract/errors.js';
import type { EventOf } from '../../contract/events.js';
import type { StreamProfile } from '../../contract/profiles.js';
import type { Dialect } from '../../dialects/dialect.js';
import { readLineCursor } from './line-cursor.js';
import type { ResumePoint } from './line-cursor.js';
import type { StreamRequest } from './read-options.js';
import { rebuildStates } from './rebuild-states.js';

export interface StartOptions {
  runs: Runs;
  runId: string;
  request: StreamRequest;
  dialect: Dialect<unknown>;
  begin: (runId: string) => unknown;
  profile: StreamProfile;
  dress: Dress;
  signal: AbortSignal;
}

export interface Start {
  stream: RunStream;
  point: ResumePoint;
  states: Map<string, unknown>;
  /** The reader has had all of the run, to its end. */
  ended: EventOf<'run_completed'> | undefined;
  /** How many events there were; undefined where no worker has said it yet. */
  tail: number | undefined;
}

/** A run that was started just now has no log yet, and may have no worker: its stream opens all the same. */
const FRESH_WAIT_MS = 2_000;
const RESUME_WAIT_MS = 10_000;

export async function findStart(options: StartOptions): Promise<Start> {
  const { runs, runId, request, dialect, begin, profile, dress, signal } = options;
  const { follow, from } = request;
  // A feed that somebody reads knows the tail without a query.
  const anchor = follow && 'seq' in from && from.seq !== 0 ? runs.stream(runId) : undefined;
  let stream: RunStream | undefined;
  try {
    const point = await findPoint(options);
    const next = point.open.get(runId) ?? 0;
    const position = point.tree === undefined ? { from: next } : { cursor: point.tree };
    stream = runs.stream(runId, { follow, profile, rest_chunks: dialect.restChunks === true, ...position });
    const isFresh = point.tree === undefined && next === 0;
    const tail = isFresh ? await inTime(runs.tail(runId), FRESH_WAIT_MS) : await tailOf(options);
    const rebuild = rebuildStates(point, { runs, dialect, begin, profile, dress, follow, signal });
    const { states, ended } = await (isFresh ? rebuild : orRefuse(rebuild, runId));
    return { stream, point, tail, states, ended: ended.get(runId) };
  } catch (error) {
    void stream?.return?.();
    throw error;
  } finally {
    void anchor?.return?.();
  }
}

async function findPoint(options: StartOptions): Promise<ResumePoint> {
  const { runId, request, profile } = options;
  const { from } = request;
  const flattened = profile.children === 'flattened';
  if ('cursor' in from) return readLineCursor(from.cursor, runId, flattened);
  const at = (seq: number): ResumePoint => ({ open: new Map([[runId, seq]]), shown: new Map() });
  if (from.seq === 0) return at(0);
  if (flattened) {
    const why = 'it counts the events of one run, and the stream is of a tree: resume that by cursor';
    throw new PerdureError('invalid_request', `from: ${why}`);
  }
  const tail = await tailOf(options);
  if (from.seq > tail) {
    throw new PerdureError('invalid_request', `from: run ${runId} has written ${tail} events, none after them yet`);
  }
  return at(from.seq < 0 ? Math.max(0, tail + from.seq) : from.seq);
}

function tailOf({ runs, runId }: StartOptions): Promise<number> {
  return orRefuse(runs.tail(runId), runId);
}

/** Whoever resumes can come back later. */
async function orRefuse<T>(reading: Promise<T>, runId: string): Promise<T> {
  const read = await inTime(
    reading.then((value) => ({ value })),
    RESUME_WAIT_MS,
  );
  if (read !== undefined) return read.value;
  const what = `the log of run ${runId} could not be read within ${RESUME_WAIT_MS / 1_000} seconds`;
  throw new PerdureError('server_unreachable', what);
}

async function inTime<T>(reading: Promise<T>, milliseconds: number): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), milliseconds);
  });
  try {
    return await Promise.race([reading, late]);
  } finally {
    clearTimeout(timer);
  }
}
