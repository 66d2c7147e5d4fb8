/**
 * One reader of a feed.
 *
 * B1  Durable events are never left out: the queue holds only their numbers, the feed holds the events.
 * B2  Live events of a reader that is too slow are merged, then dropped, with a marker; nobody else notices.
 * B3  Numbers that follow one another are one entry, so the queue is short however far behind the reader is.
 * B4  The chunks of a block, one after another, are its text: what the reader was not given of it comes as one more
 *     chunk before the event that closes it, and none comes after that event (`told-text.ts`).
 */
import type { DurableEvent } from '../contract/events.js';
import type { LiveEvent, StreamEvent, StreamMarker } from '../contract/live-events.js';
import { mergeInto } from '../live/signal-publisher.js';
import { createToldText } from './told-text.js';

const MAX_LIVE = 1_000;
/** Merged events are few, and can still hold much. */
const MAX_LIVE_CHARS = 1_000_000;

type Entry = { next: number; last: number } | { live: LiveEvent[] } | { marker: StreamMarker };

export interface Subscription extends AsyncIterableIterator<StreamEvent> {
  /** Numbers below the one it begins at are passed over. */
  beginAt(seq: number): void;
  durable(seq: number): void;
  live(events: readonly LiveEvent[]): void;
  marker(marker: StreamMarker): void;
  /** No more will be pushed; what is queued is still delivered. */
  end(): void;
}

interface SubscriptionOptions {
  runId: string;
  restChunks?: boolean;
  eventAt: (seq: number) => DurableEvent;
  onClose: () => void;
}

export function createSubscription({ runId, restChunks = true, eventAt, onClose }: SubscriptionOptions): Subscription {
  const queue: Entry[] = [];
  const told = createToldText();
  let start = 0;
  let liveHeld = 0;
  let charsHeld = 0;
  let dropped = 0;
  let ended = false;
  let closed = false;
  let waiting: (() => void)[] = [];

  const notify = () => {
    const woken = waiting;
    waiting = [];
    for (const wake of woken) wake();
  };
  const close = () => {
    closed = true;
    queue.length = 0;
    onClose();
    notify();
  };

  function take(): StreamEvent | undefined {
    for (let entry = queue[0]; entry !== undefined; entry = queue[0]) {
      if ('marker' in entry) {
        queue.shift();
        return entry.marker;
      }
      if ('live' in entry) {
        const event = entry.live.shift();
        if (entry.live.length === 0) queue.shift();
        if (event === undefined) continue;
        liveHeld -= 1;
        charsHeld -= charsOf(event);
        const shown = told.live(event);
        if (shown !== undefined) return shown;
        continue;
      }
      const event = eventAt(entry.next);
      const rest = restChunks ? told.rest(event) : undefined;
      if (rest !== undefined) return rest;
      told.durable(event);
      if (entry.next === entry.last) queue.shift();
      else entry.next += 1;
      return event;
    }
    return undefined;
  }

  return {
    beginAt(seq) {
      start = seq;
    },
    durable(seq) {
      if (seq < start) return;
      const last = queue.at(-1);
      if (last !== undefined && 'next' in last && last.last === seq - 1) last.last = seq;
      else queue.push({ next: seq, last: seq });
      notify();
    },
    live(events) {
      for (const event of events) {
        const last = queue.at(-1);
        const batch = last !== undefined && 'live' in last ? last.live : [];
        if (batch.length === 0) queue.push({ live: batch });
        const before = batch.length;
        // Only a reader that is behind gets merged chunks.
        if (liveHeld > 100) mergeInto(batch, event);
        else batch.push(event);
        liveHeld += batch.length - before;
        charsHeld += charsOf(event);
      }
      while (liveHeld > MAX_LIVE || charsHeld > MAX_LIVE_CHARS) dropOldest();
      notify();
    },
    marker(marker) {
      queue.push({ marker });
      notify();
    },
    end() {
      ended = true;
      notify();
    },
    async next() {
      for (;;) {
        if (closed) return { done: true, value: undefined };
        if (dropped > 0) {
          const marker: StreamMarker = { type: 'live_dropped', run_id: runId, dropped };
          dropped = 0;
          return { done: false, value: marker };
        }
        const event = take();
        if (event !== undefined) {
          if (LAST.has(event.type)) close();
          return { done: false, value: event };
        }
        if (ended) {
          onClose();
          return { done: true, value: undefined };
        }
        await new Promise<void>((resolve) => waiting.push(resolve));
      }
    },
    return() {
      close();
      return Promise.resolve({ done: true, value: undefined });
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };

  function dropOldest(): void {
    const index = queue.findIndex((entry) => 'live' in entry);
    const entry = queue[index];
    if (entry === undefined || !('live' in entry)) return;
    dropped += entry.live.length;
    liveHeld -= entry.live.length;
    charsHeld -= entry.live.reduce((sum, event) => sum + charsOf(event), 0);
    for (const event of entry.live) told.missed(event);
    queue.splice(index, 1);
    const [before, after] = [queue[index - 1], queue[index]];
    if (before === undefined || after === undefined || !('next' in before) || !('next' in after)) return;
    if (before.last + 1 !== after.next) return;
    after.next = before.next;
    queue.splice(index - 1, 1);
  }
}

const LAST: ReadonlySet<string> = new Set(['run_completed', 'stream_ended', 'stream_failed']);

function charsOf(event: LiveEvent): number {
  return 'text' in event ? event.text.length : 0;
}
