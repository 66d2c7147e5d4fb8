/** Streams of runs: one feed per run in this process, shared by all that read it, alone or as part of a tree. */
import type { Client } from '@temporalio/client';
import { isPerdureError, PerdureError } from '../contract/errors.js';
import type { DurableEvent } from '../contract/events.js';
import { applyProfile, PROFILES, resolveProfile } from '../contract/profiles.js';
import type { ChildStreams, OwnProfiles, ProfileChoice, StreamProfile } from '../contract/profiles.js';
import type { LiveChannel } from '../live/channel.js';
import type { ClosedReader } from './closed-logs.js';
import { engineEnd } from './engine-end.js';
import { createFeed } from './feed.js';
import type { Feed } from './feed.js';
import type { LogReader } from './read-log.js';
import { createRunStream } from './run-stream.js';
import type { RunSource, RunStream } from './run-stream.js';
import { readCursor } from './stream-cursor.js';
import type { StreamPosition } from './stream-cursor.js';
import { withRests } from './told-text.js';
import type { StreamEvent } from '../contract/live-events.js';

export interface StreamOptions {
  /** The first `seq`; negative counts from the end; 0 by default. Of one run: a flattened stream takes a cursor. */
  from?: number;
  /** Where another stream of this run was left: its `cursor()`. */
  cursor?: string;
  /** False: only what is in the log now. */
  follow?: boolean;
  /** What is shown of each event; all of it if absent. */
  profile?: ProfileChoice;
  /** What is shown of child runs, whatever the profile says; without a profile, links. */
  children?: ChildStreams;
  /**
   * What this reader was not given of a text comes as one more chunk before the event that closes it, so that the chunks
   * are the text. False: only with that event.
   */
  rest_chunks?: boolean;
  signal?: AbortSignal;
}

interface StreamsOptions {
  client: Client;
  reader: LogReader;
  closed: ClosedReader;
  channel: LiveChannel | undefined;
  readOnce: (runId: string, from: number) => AsyncGenerator<DurableEvent, undefined>;
  readTail: (runId: string) => Promise<number>;
  onObstacle: (runId: string, error: unknown) => void;
  profiles: OwnProfiles;
}

const KEPT_MS = 5_000;
const KEPT_FEEDS = 100;

const NOTHING_MORE: RunSource = { next: () => Promise.resolve({ done: true, value: undefined }) };

export function createStreams(options: StreamsOptions) {
  const { client, reader, closed, channel, readOnce, readTail, onObstacle, profiles } = options;
  const feeds = new Map<string, Feed>();
  /** Of runs that have ended: they read no more. The oldest first. */
  const complete = new Map<string, Feed>();
  let closing = false;

  function feedOf(runId: string): Feed {
    const known = feeds.get(runId);
    if (known !== undefined) return known;
    let isTold = false;
    const feed = createFeed({
      client,
      runId,
      reader,
      closed,
      channel,
      onObstacle(error) {
        if (!isTold) onObstacle(runId, error);
        isTold = true;
      },
      onIdle: (isComplete) => (isComplete ? keep(runId, feed) : drop(runId, feed)),
    });
    feeds.set(runId, feed);
    return feed;
  }

  function drop(runId: string, feed: Feed): void {
    if (feeds.get(runId) === feed) feeds.delete(runId);
  }

  /** Those who come just after the end, or come back, are served from memory. */
  function keep(runId: string, feed: Feed): void {
    complete.set(runId, feed);
    setTimeout(() => forget(runId, feed), KEPT_MS).unref();
    const [oldest] = complete;
    if (complete.size > KEPT_FEEDS && oldest !== undefined) forget(...oldest);
  }

  function forget(runId: string, feed: Feed): void {
    if (complete.get(runId) === feed) complete.delete(runId);
    drop(runId, feed);
  }

  function followed(runId: string, from: number, restChunks: boolean): RunSource {
    // A stream that is read on after the client was closed would wait for ever on a feed that nobody stops.
    if (closing) return NOTHING_MORE;
    const feed = feedOf(runId);
    return Object.assign(feed.subscribe(from, restChunks), { hurry: () => feed.hurry() });
  }

  /** As far as the log goes now, and the marker where the engine ended the run. */
  async function* inTree(runId: string, from: number): AsyncGenerator<StreamEvent, undefined> {
    let last: StreamEvent | undefined;
    try {
      for await (const event of readOnce(runId, from)) yield (last = event);
    } catch (error) {
      if (!isPerdureError(error) || error.code !== 'unknown_run') throw error;
    }
    const marker = last?.type === 'run_completed' ? undefined : await engineEnd(client, closed, runId);
    if (marker !== undefined) yield marker;
  }

  return {
    stream(runId: string, options: StreamOptions = {}): RunStream {
      const profile = profileOf(options, profiles);
      const flattened = profile?.children === 'flattened';
      const { rest_chunks: restChunks = true } = options;
      const readNow = (id: string, from: number) => {
        const events = flattened ? inTree(id, from) : readOnce(id, from);
        return restChunks ? withRests<StreamEvent>(events) : events;
      };
      const stream = createRunStream({
        from: positionOf(runId, flattened, options),
        sourceOf: options.follow === false ? readNow : (id, from) => followed(id, from, restChunks),
        show: profile === undefined ? (event) => event : (event) => applyProfile(profile, event),
      });
      const { signal } = options;
      signal?.addEventListener('abort', () => void stream.return?.(), { once: true });
      if (signal?.aborted) void stream.return?.();
      return stream;
    },
    /** From the feed, where somebody reads the run here: many who ask cost no query. */
    tail: (runId: string): Promise<number> => feeds.get(runId)?.tail() ?? readTail(runId),
    async close() {
      closing = true;
      await Promise.all([...feeds.values()].map((feed) => feed.stop()));
    },
  };
}

/** Undefined: everything, of the run alone. */
export function profileOf({ profile, children }: StreamOptions, own: OwnProfiles): StreamProfile | undefined {
  if (profile === undefined && (children === undefined || children === 'linked')) return undefined;
  const chosen =
    profile === undefined ? { ...PROFILES.agent_debug, children: 'linked' as const } : resolveProfile(profile, own);
  return children === undefined ? chosen : resolveProfile({ ...chosen, children });
}

export function positionOf(
  runId: string,
  flattened: boolean,
  { from, cursor }: Pick<StreamOptions, 'from' | 'cursor'>,
): StreamPosition {
  if (cursor !== undefined) {
    if (from !== undefined) throw new PerdureError('invalid_request', 'from and cursor: give one of them');
    return readCursor(cursor, runId, flattened);
  }
  if (flattened && from !== undefined && from !== 0) {
    throw new PerdureError(
      'invalid_request',
      'from: it counts the events of one run; resume a flattened stream by cursor',
    );
  }
  return { run_id: runId, flattened, open: new Map([[runId, from ?? 0]]) };
}
