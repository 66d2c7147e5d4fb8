/**
 * The sending side of the Redis channel.
 *
 * P1  Nobody waits for Redis. What is published while a batch is on its way is merged into the next one; what becomes too
 *     much is dropped, live events first, and counted.
 * P2  For a run that nobody listens to, nothing is sent. Whether anybody does is the answer to each message; before the
 *     first answer it is sent on trial, so nothing waits for that. Its open blocks are kept here, and told as soon as a
 *     reader says that it listens.
 * P3  After anything was not sent, the next message has all the text so far, so that no reader is left with a gap.
 * P4  From time to time the stream is given the text so far, and then forgets what is older.
 */
import type { LiveEvent } from '../../contract/live-events.js';
import type { CommittedEvent, Origin } from '../channel.js';
import { createOpenRuns } from '../open-runs.js';
import { mergeInto } from '../signal-publisher.js';
import type { RedisLink } from './link.js';
import { writeMessage } from './messages.js';
import type { RedisNames } from './names.js';

export interface RedisPublisher {
  live(runId: string, events: readonly LiveEvent[], origin: Origin): void;
  committed(runId: string, events: readonly CommittedEvent[], origin: Origin): void;
  watched(runId: string): boolean;
  /** Readers have begun to listen to these runs. */
  interest(runIds: readonly string[]): void;
  /** From here on readers are heard when they begin to listen; what is known of them is from before. */
  begin(): void;
  /** How many events were not sent since it was asked last. */
  takeDropped(): number;
}

/** What is known of the listeners of a run. */
interface Watch {
  /** Undefined: not known, and maybe asked for. */
  isWatched: boolean | undefined;
  isAsked: boolean;
  /** How often readers have said that they listen: an answer from before that is void. */
  joined: number;
  /** Live messages since the stream was given the text so far. */
  entries: number;
  /** The next message has to have all the text so far. */
  isBehind: boolean;
  /** Whose open blocks are kept here. */
  execution: string | undefined;
}

type Item =
  | { kind: 'live'; origin: Origin; events: LiveEvent[] }
  | { kind: 'committed'; origin: Origin; events: readonly CommittedEvent[] };

const KEPT_WATCHES = 20_000;
/** In characters, of all that waits. */
const MOST_WAITING = 4 * 1024 * 1024;
const STREAM_ENTRIES = 1_000;
const SO_FAR_EVERY = 100;
const STREAM_MS = 10 * 60_000;
/** Once a run has ended, its stream is for those who are just joining. */
const ENDED_STREAM_MS = 30_000;
/** What is larger is told and not kept: who joins later reads it. */
const MOST_KEPT_TEXT = 32 * 1024;
const MOST_SO_FAR = 256 * 1024;

export function createRedisPublisher(link: RedisLink, names: RedisNames, mostWaiting = MOST_WAITING): RedisPublisher {
  const open = createOpenRuns();
  const watches = new Map<string, Watch>();
  let waiting = new Map<string, Item[]>();
  let held = 0;
  let dropped = 0;
  let isSending = false;

  function watchOf(runId: string): Watch {
    const known = watches.get(runId);
    if (known !== undefined) return known;
    const watch: Watch = {
      isWatched: undefined,
      isAsked: false,
      joined: 0,
      entries: 0,
      isBehind: true,
      execution: undefined,
    };
    watches.set(runId, watch);
    if (watches.size > KEPT_WATCHES) watches.delete(watches.keys().next().value as string);
    return watch;
  }

  function put(runId: string, item: Item): void {
    if (!link.isUp()) {
      dropped += item.events.length;
      return;
    }
    const items = waiting.get(runId) ?? [];
    waiting.set(runId, items);
    const last = items.at(-1);
    if (item.kind === 'live' && last?.kind === 'live' && last.origin.execution === item.origin.execution)
      for (const event of item.events) mergeInto(last.events, event);
    else items.push(item);
    held += charsOf(item);
    if (held > mostWaiting) makeRoom();
    queueMicrotask(() => void send());
  }

  /** P1: half of it goes, so that this is seldom. */
  function makeRoom(): void {
    for (const kind of ['live', 'committed'] as const) {
      for (const [runId, items] of waiting) {
        if (held <= mostWaiting / 2) return;
        const [gone, left] = [items.filter((item) => item.kind === kind), items.filter((item) => item.kind !== kind)];
        if (left.length === 0) waiting.delete(runId);
        else waiting.set(runId, left);
        held -= gone.reduce((sum, item) => sum + charsOf(item), 0);
        dropped += gone.reduce((sum, item) => sum + item.events.length, 0);
        if (gone.length > 0) watchOf(runId).isBehind = true;
      }
    }
  }

  async function send(): Promise<void> {
    if (isSending) return;
    isSending = true;
    while (waiting.size > 0) {
      const batch = [...waiting];
      waiting = new Map();
      held = 0;
      await Promise.all(batch.flatMap(([runId, items]) => items.map((item) => tell(runId, item))));
    }
    isSending = false;
  }

  async function tell(runId: string, item: Item): Promise<void> {
    const watch = watchOf(runId);
    if (watch.isWatched === false) return;
    const message = item.kind === 'live' ? liveMessage(runId, watch, item) : committedMessage(item);
    if (message === undefined) return;
    const { kept, told, milliseconds } = message;
    const { joined } = watch;
    try {
      heard(
        watch,
        joined,
        await link.commands.perdureTell(
          names.stream(runId),
          names.channel(runId),
          kept,
          told,
          STREAM_ENTRIES,
          milliseconds,
        ),
      );
    } catch (error) {
      dropped += item.events.length;
      watch.isBehind = true;
      link.refused(error);
    }
  }

  function liveMessage(runId: string, watch: Watch, { origin, events }: Item & { kind: 'live' }) {
    const told = writeMessage({ kind: 'live', origin, events });
    watch.entries += 1;
    const plain = events.length === 0 ? undefined : { kept: told, told: '', milliseconds: STREAM_MS };
    if (!watch.isBehind && watch.entries < SO_FAR_EVERY) return plain;
    const others = events.filter((event) => !('block_id' in event));
    const soFar = [...others, ...open.replay(runId)];
    const kept = writeMessage({ kind: 'live', origin, events: soFar });
    const { isBehind } = watch;
    watch.isBehind = false;
    watch.entries = 0;
    if (soFar.length === 0) return undefined;
    // Too much to be said again: its readers get the rest with the closing event.
    if (kept.length > MOST_SO_FAR) return plain;
    return { kept, told: isBehind ? '' : told, milliseconds: STREAM_MS };
  }

  return {
    live(runId, events, origin) {
      const shown = open.add(runId, events);
      if (shown.length === 0) return;
      const watch = watchOf(runId);
      watch.execution = origin.execution;
      if (watch.isWatched !== false) put(runId, { kind: 'live', origin, events: shown });
    },
    committed(runId, events, origin) {
      open.close(
        runId,
        events.map(({ event }) => event),
      );
      put(runId, { kind: 'committed', origin, events });
    },
    watched(runId) {
      if (!link.isUp()) return false;
      const watch = watchOf(runId);
      if (watch.isWatched === undefined && !watch.isAsked) {
        watch.isAsked = true;
        const { joined } = watch;
        link.commands.spublish(names.channel(runId), '').then(
          (count) => heard(watch, joined, Number(count)),
          (error: unknown) => {
            watch.isAsked = false;
            link.refused(error);
          },
        );
      }
      return watch.isWatched !== false;
    },
    interest(runIds) {
      for (const runId of runIds) {
        const watch = watchOf(runId);
        Object.assign(watch, { isWatched: true, isBehind: true, joined: watch.joined + 1 });
        const { execution } = watch;
        if (execution === undefined || open.replay(runId).length === 0) continue;
        put(runId, { kind: 'live', origin: { execution }, events: [] });
      }
    },
    begin() {
      for (const watch of watches.values())
        Object.assign(watch, { isWatched: undefined, isAsked: false, isBehind: true });
    },
    takeDropped() {
      const count = dropped;
      dropped = 0;
      return count;
    },
  };
}

function heard(watch: Watch, joined: number, count: number): void {
  if (watch.joined !== joined) return;
  watch.isWatched = count > 0;
  if (count === 0) watch.isBehind = true;
}

function committedMessage({ origin, events }: Item & { kind: 'committed' }) {
  const last = events.at(-1)?.seq ?? -1;
  const small = events.filter(({ text }) => text.length <= MOST_KEPT_TEXT);
  const told = writeMessage({ kind: 'committed', origin, events, last });
  const isOver = events.some(({ event }) => event.type === 'run_completed');
  const milliseconds = isOver ? ENDED_STREAM_MS : STREAM_MS;
  if (small.length === events.length) return { kept: told, told: '', milliseconds };
  return { kept: writeMessage({ kind: 'committed', origin, events: small, last }), told, milliseconds };
}

function charsOf(item: Item): number {
  if (item.kind === 'committed') return item.events.reduce((sum, { text }) => sum + text.length, 0);
  return item.events.reduce((sum, event) => sum + ('text' in event ? event.text.length : 100), 0);
}
