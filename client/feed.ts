/**
 * The one feed of a run in this process, however many read it.
 *
 * F1  At most one reading of the feed is on its way. It asks the server first, which takes no worker, whether anything
 *     has happened since the last one, and whether the channel has brought it all: only else is a worker asked.
 * F2  Readers get the log in order without gaps, then the text so far of open blocks, then what comes.
 * F3  The channel is a hint of speed, never of truth: what it does not bring, or brings out of order, is read. What it
 *     brings of an execution that the server does not know as this run's is left out.
 * F4  A live event is shown after the durable one that opens its step or its tool call, never before.
 * F5  It ends at `run_completed`, or at a marker: the engine ended the run without one, or the run cannot be read any
 *     more from here. What may pass is waited out, and told once.
 */
import type { Client } from '@temporalio/client';
import type { LiveEvent, StreamMarker } from '../contract/live-events.js';
import type { CommittedEvent, LiveChannel, Origin } from '../live/channel.js';
import { lastCompletedTask } from '../live/history.js';
import { createOpenBlocks } from '../live/open-blocks.js';
import type { ClosedReader, ClosedRun } from './closed-logs.js';
import { endOf } from './engine-end.js';
import { findExecution, isSame } from './execution.js';
import type { Execution } from './execution.js';
import { permanent } from './explain-error.js';
import { listen } from './listen.js';
import type { Brought } from './listen.js';
import type { LogReader } from './read-log.js';
import { createSubscription } from './subscription.js';
import type { Subscription } from './subscription.js';

export interface Feed {
  /** `restChunks`: see `StreamOptions.rest_chunks`. */
  subscribe(from: number, restChunks: boolean): Subscription;
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
  reader: LogReader;
  closed: ClosedReader;
  channel: LiveChannel | undefined;
  /** Nothing more is read; where the log is complete, the feed still serves whoever subscribes. */
  onIdle: (isComplete: boolean) => void;
  /** What keeps it from reading for now. */
  onObstacle: (error: unknown) => void;
}

const FASTEST_POLL_MS = 100;
const SLOWEST_POLL_MS = 1_000;
/** With a channel that brings events, polling is only for what it may have lost. */
const SAFETY_POLL_MS = 1_000;
const SLOWEST_SAFETY_POLL_MS = 5_000;
const READS_OF_A_KILLED_RUN = 3;

export function createFeed({ client, runId, reader, closed, channel, onIdle, onObstacle }: FeedOptions): Feed {
  const committed: CommittedEvent[] = [];
  const open = createOpenBlocks();
  const readers = new Set<Subscription>();
  const waiting = new Map<Subscription, number>();
  const opened = new Set<string>();
  /** The task to whose end the channel has brought all that there is. */
  let broughtTo: Origin | undefined;
  let early: LiveEvent[] = [];
  let ready = false;
  let ended = false;
  let stopping = false;
  let quiet = 0;
  let unreadable = 0;
  let liveFrom = 0;
  let signalLive = false;
  /** The channel does not bring what happens: another process has the run. */
  let isAlone = channel === undefined;
  let hasty = false;
  let isSought = false;
  let lookedAt: Execution | undefined;
  let lastWord: StreamMarker | undefined;
  let wake: (() => void) | undefined;
  let onFirstRead: () => void = () => {};
  const firstRead = new Promise<void>((resolve) => (onFirstRead = resolve));

  const ear = listen({ channel, runId, take, onUnknown: hurry, onAway: () => wake?.() });
  const running = run();

  return {
    stop() {
      stopping = true;
      wake?.();
      return running;
    },
    tail: () => firstRead.then(() => committed.length),
    hurry,
    subscribe(from, restChunks) {
      const subscription = createSubscription({
        runId,
        restChunks,
        eventAt: (seq) => (committed[seq] as CommittedEvent).event,
        onClose() {
          readers.delete(subscription);
          waiting.delete(subscription);
          if (readers.size + waiting.size === 0) wake?.();
        },
      });
      waiting.set(subscription, from);
      beginAll();
      return subscription;
    },
  };

  /** Who reads from the start needs only the first event; who counts from the end has to wait until that is known. */
  function beginAll(): void {
    for (const [subscription, from] of waiting) {
      if (!ready && (from < 0 || committed.length === 0)) continue;
      waiting.delete(subscription);
      begin(subscription, from);
    }
  }

  function take(brought: Brought, origin: Origin | undefined): void {
    if ('live' in brought) return showLive(brought.live);
    quiet = 0;
    isAlone = false;
    for (const event of brought.committed) if (event.seq === committed.length) append(event);
    beginAll();
    const last = brought.committed.at(-1)?.seq ?? -1;
    if (last === committed.length - 1 && origin?.task !== undefined) broughtTo = origin;
    // Something is missing before it, or it is the end.
    if (last >= committed.length || ended) wake?.();
  }

  function hurry(): void {
    hasty = true;
    wake?.();
  }

  function begin(subscription: Subscription, from: number): void {
    const start = from < 0 ? Math.max(0, committed.length + from) : from;
    subscription.beginAt(start);
    for (let seq = start; seq < committed.length; seq++) subscription.durable(seq);
    const soFar = open.replay();
    if (soFar.length > 0) subscription.live(soFar);
    if (lastWord !== undefined) subscription.marker(lastWord);
    if (ended) subscription.end();
    else readers.add(subscription);
  }

  function append(event: CommittedEvent): void {
    committed.push(event);
    open.close(event.event);
    for (const subscription of readers) subscription.durable(event.seq);
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
    const shown = events.flatMap((event) => {
      const isOpen = opened.has(event.tool_call_id ?? event.step_id ?? '');
      if (!isOpen) early.push(event);
      const fresh = isOpen ? open.add(event) : undefined;
      return fresh === undefined ? [] : [fresh];
    });
    if (shown.length > 0) for (const subscription of readers) subscription.live(shown);
  }

  /** Reads what is new; true if there was anything. */
  async function catchUp(execution: Execution): Promise<boolean> {
    const before = committed.length;
    const pendingLive: LiveEvent[] = [];
    const live = {
      from: liveFrom,
      take(page: { live: LiveEvent[]; live_next: number; signal_live: boolean }) {
        signalLive = page.signal_live;
        liveFrom = page.live_next;
        live.from = page.live_next;
        pendingLive.push(...page.live);
      },
    };
    let isNews = false;
    for await (const event of reader.follow(execution, committed.length, live)) {
      // The channel may have brought it while the query was on its way.
      if (event.seq !== committed.length) continue;
      append(event);
      isNews = ready;
    }
    showLive(pendingLive);
    if (isNews) isAlone = true;
    return pendingLive.length > 0 || committed.length > before;
  }

  /** Of a run that is over; false where it is not in the archive. */
  async function readKept(kept: ClosedRun | undefined): Promise<boolean> {
    if (kept === undefined) return false;
    for await (const event of reader.kept(runId, committed.length)) if (event.seq === committed.length) append(event);
    if (!ready) start();
    if (!ended) endWith(endOf(runId, { isOpen: false, status: kept.status }));
    return true;
  }

  async function look(): Promise<void> {
    // Once: as long as the server says that the run is open, it is not there.
    if (!isSought && (await readKept(await closed.find(runId)))) return;
    isSought = true;
    const heldBefore = ear.held();
    const execution = await findExecution(client, runId);
    if (execution !== undefined) ear.know(execution, heldBefore);
    if (ended || isSame(lookedAt, execution)) {
      quiet += 1;
      return;
    }
    const forgotten = execution === undefined ? await closed.findOnly(runId) : undefined;
    if (await readKept(execution?.isOpen === false ? await closed.find(runId) : forgotten)) return;
    if (execution === undefined) return endWith(endOf(runId, execution));
    let isRead = true;
    await ear.caughtUp;
    try {
      quiet = !(await isBrought(execution)) && (await catchUp(execution)) ? 0 : quiet + 1;
      lookedAt = execution;
    } catch (error) {
      // One that was killed may have no worker left to read it. One that closed by itself has written its end.
      const isKilled = execution.status === 'TERMINATED' || execution.status === 'TIMED_OUT';
      if (!isKilled || ++unreadable <= READS_OF_A_KILLED_RUN) throw error;
      isRead = false;
    }
    if (!ready) start();
    if (!ended && !execution.isOpen) endWith(endOf(runId, execution));
    else if (!isRead) lookedAt = execution;
  }

  /** F1. A run that continued as new has a log from before. */
  async function isBrought(execution: Execution): Promise<boolean> {
    const { isOpen, runId: current, firstRunId } = execution;
    if (channel === undefined || signalLive || !isOpen) return false;
    if (committed.length === 0 ? current !== firstRunId : current !== broughtTo?.execution) return false;
    const task = await lastCompletedTask(client, execution);
    return committed.length === 0 ? task === undefined : task !== undefined && task === broughtTo?.task;
  }

  async function run(): Promise<void> {
    let failures = 0;
    while (!ended && !stopping) {
      hasty = false;
      try {
        await look();
        failures = 0;
      } catch (error) {
        const why = permanent(error, runId);
        if (why !== undefined) {
          endWith({ type: 'stream_failed', run_id: runId, code: why.code, message: why.message });
          break;
        }
        // No worker answers, or the server is away: the run is not over, so the reader waits with us.
        failures += 1;
        onObstacle(error);
      }
      if (ended || stopping || (ready && readers.size === 0)) break;
      await pause(failures > 0 ? Math.min(SLOWEST_POLL_MS, FASTEST_POLL_MS * 2 ** failures) : pollInterval());
      if (readers.size + waiting.size === 0) break;
    }
    if (!ready) start();
    for (const subscription of readers) subscription.end();
    ear.leave();
    onIdle(ended && lastWord === undefined);
  }

  function start(): void {
    ready = true;
    beginAll();
    onFirstRead();
  }

  function endWith(marker: StreamMarker | undefined): void {
    if (marker === undefined) return;
    if (!ready) start();
    ended = true;
    lastWord = marker;
    for (const subscription of readers) subscription.marker(marker);
  }

  function pollInterval(): number {
    if (channel?.isUp() === true && !isAlone && !signalLive)
      return Math.min(SLOWEST_SAFETY_POLL_MS, SAFETY_POLL_MS * (1 + quiet));
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
