/**
 * The one feed of a run in this process, however many read it.
 *
 * F1  At most one query of the feed is in flight.
 * F2  Readers get the log in order without gaps, then the text so far of open blocks, then what comes.
 * F3  The channel is a hint of speed, never of truth: what it does not bring, or brings out of order, is read.
 * F4  A live event is shown after the durable one that opens its step or its tool call, never before.
 * F5  It ends at `run_completed`, or at a marker when the engine ended the run without one.
 */
import type { Client } from '@temporalio/client';
import type { LiveEvent, StreamMarker } from '../contract/live-events.js';
import type { ChannelListener, CommittedEvent, LiveChannel } from '../live/channel.js';
import { createOpenBlocks } from '../live/open-blocks.js';
import { engineEnd } from './engine-end.js';
import { logReader, readEvents } from './read-log.js';
import { createSubscription } from './subscription.js';
import type { Subscription } from './subscription.js';

export interface Feed {
  subscribe(from: number): Subscription;
  /** How many events the log has now; waits until it was read once. */
  tail(): Promise<number>;
  /** Someone knows that the run has ended: the feed looks now, not at its next poll. */
  hurry(): void;
  /** Ends its readers; resolves when no query is in flight any more. */
  stop(): Promise<void>;
}

interface FeedOptions {
  client: Client;
  runId: string;
  channel: LiveChannel | undefined;
  /** Nothing more is read; where the log is complete, the feed still serves whoever subscribes. */
  onIdle: (isComplete: boolean) => void;
}

const FASTEST_POLL_MS = 100;
const SLOWEST_POLL_MS = 1_000;
/** With a channel that brings events, polling is only for what it may have lost. */
const SAFETY_POLL_MS = 1_000;
const SLOWEST_SAFETY_POLL_MS = 5_000;
/** How soon a reader learns that a run was terminated. */
const DESCRIBE_EVERY_MS = 1_000;
const READS_OF_A_KILLED_RUN = 3;

export function createFeed({ client, runId, channel, onIdle }: FeedOptions): Feed {
  const committed: CommittedEvent[] = [];
  const open = createOpenBlocks();
  const readers = new Set<Subscription>();
  const waiting = new Map<Subscription, number>();
  const read = logReader(client, runId);
  const opened = new Set<string>();
  let early: LiveEvent[] = [];
  let ready = false;
  let ended = false;
  let stopping = false;
  let quiet = 0;
  let lookedAt = 0;
  let unreadable = 0;
  let liveFrom = 0;
  let signalLive = false;
  let hasty = false;
  let engineEnded: StreamMarker | undefined;
  let wake: (() => void) | undefined;
  let onFirstRead: () => void = () => {};
  const firstRead = new Promise<void>((resolve) => (onFirstRead = resolve));

  const listener: ChannelListener = {
    live: (events) => showLive(events),
    committed(events) {
      quiet = 0;
      for (const event of events) if (event.seq === committed.length) append(event);
      if ((events.at(-1)?.seq ?? -1) >= committed.length) wake?.();
    },
  };
  const unsubscribe = channel?.subscribe(runId, listener);
  const running = run();

  return {
    stop() {
      stopping = true;
      wake?.();
      return running;
    },
    tail: () => firstRead.then(() => committed.length),
    hurry() {
      hasty = true;
      wake?.();
    },
    subscribe(from) {
      const subscription = createSubscription({
        runId,
        eventAt: (seq) => (committed[seq] as CommittedEvent).event,
        onClose() {
          readers.delete(subscription);
          waiting.delete(subscription);
          if (readers.size + waiting.size === 0) wake?.();
        },
      });
      if (ready) begin(subscription, from);
      else waiting.set(subscription, from);
      return subscription;
    },
  };

  function begin(subscription: Subscription, from: number): void {
    const start = from < 0 ? Math.max(0, committed.length + from) : from;
    subscription.beginAt(start);
    for (let seq = start; seq < committed.length; seq++) subscription.durable(seq);
    const soFar = open.replay();
    if (soFar.length > 0) subscription.live(soFar);
    if (engineEnded !== undefined) subscription.marker(engineEnded);
    if (ended) subscription.end();
    else readers.add(subscription);
  }

  function append(event: CommittedEvent): void {
    committed.push(event);
    open.close(event.event);
    for (const reader of readers) reader.durable(event.seq);
    if (event.event.type === 'run_completed') ended = true;
    const { type, step_id, tool_call_id } = event.event;
    const id = type === 'step_started' ? step_id : type === 'tool_scheduled' ? tool_call_id : undefined;
    if (id === undefined) return;
    opened.add(id);
    const held = early;
    early = [];
    showLive(held);
  }

  function showLive(events: readonly LiveEvent[]): void {
    const shown = events.filter((event) => {
      const isOpen = opened.has(event.tool_call_id ?? event.step_id ?? '');
      if (!isOpen) early.push(event);
      return isOpen && open.add(event);
    });
    if (ready && shown.length > 0) for (const reader of readers) reader.live(shown);
  }

  /** Reads what is new; true if there was anything. */
  async function catchUp(): Promise<boolean> {
    const before = committed.length;
    let heard = false;
    const readWithLive: typeof read = async (request) => {
      const page = await read({ ...request, live_from: liveFrom });
      signalLive = page.signal_live;
      heard = heard || page.live.length > 0;
      liveFrom = page.live_next;
      pendingLive.push(...page.live);
      return page;
    };
    const pendingLive: LiveEvent[] = [];
    for await (const event of readEvents(readWithLive, committed.length)) {
      // The channel may have brought it while the query was on its way.
      if (event.seq === committed.length) append(event);
    }
    showLive(pendingLive);
    return heard || committed.length > before;
  }

  async function run(): Promise<void> {
    let failures = 0;
    while (!ended && !stopping) {
      if (hasty) lookedAt = 0;
      hasty = false;
      try {
        quiet = (await catchUp()) ? 0 : quiet + 1;
        failures = 0;
        if (!ready) start();
        if (ended || (ready && readers.size === 0)) break;
        await endIfEngineDid();
      } catch {
        // No worker answers, or the server is away: the run is not over, so the reader waits with us.
        failures += 1;
        await endIfEngineDid().catch(() => {});
      }
      if (ended || stopping) break;
      await pause(failures > 0 ? Math.min(SLOWEST_POLL_MS, FASTEST_POLL_MS * 2 ** failures) : pollInterval());
      if (readers.size + waiting.size === 0) break;
    }
    if (!ready) start();
    for (const reader of readers) reader.end();
    unsubscribe?.();
    onIdle(ended && engineEnded === undefined);
  }

  function start(): void {
    ready = true;
    for (const [subscription, from] of waiting) begin(subscription, from);
    waiting.clear();
    onFirstRead();
  }

  async function endIfEngineDid(): Promise<void> {
    if (Date.now() - lookedAt < DESCRIBE_EVERY_MS) return;
    lookedAt = Date.now();
    const marker = await engineEnd(client, runId);
    if (marker === undefined) return;
    // The end may have been written between our last read and now. A run that closed by itself has written it, so
    // only a read that succeeds can say that it is missing; one that was killed may have no worker left to read it.
    const isKilled = marker.reason === 'terminated' || marker.reason === 'timed_out';
    const isRead = await catchUp().then(
      () => true,
      () => false,
    );
    if (ended || (!isRead && marker.reason !== 'not_found' && !(isKilled && ++unreadable > READS_OF_A_KILLED_RUN)))
      return;
    if (!ready) start();
    ended = true;
    engineEnded = marker;
    for (const reader of readers) reader.marker(marker);
  }

  function pollInterval(): number {
    if (channel !== undefined && !signalLive) return Math.min(SLOWEST_SAFETY_POLL_MS, SAFETY_POLL_MS * (1 + quiet));
    return Math.min(SLOWEST_POLL_MS, FASTEST_POLL_MS * (1 + Math.floor(quiet / 5)));
  }

  async function pause(milliseconds: number): Promise<void> {
    if (hasty) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    wake = undefined;
  }
}
