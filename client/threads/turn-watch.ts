/**
 * Waits for the turns of a thread to begin, for all in this process who want to know.
 *
 * W1  One watch per thread, however many wait; it looks only while somebody does, one look at a time.
 * W2  A look asks the server how long the thread's history is, which takes no worker. Only where that changed is the
 *     thread itself queried.
 * W3  A turn is told once its run can be read, or is known to be gone. A thread that has ended is told as ended.
 * W4  What keeps the thread from being read is waited out where it may pass, and told once until it has. Where asking
 *     again would not help, whoever waits gets the error.
 */
import type { Client } from '@temporalio/client';
import { ERRORS, isPerdureError } from '../../contract/errors.js';
import { turnRunId } from '../../contract/thread-ids.js';
import type { LiveChannel } from '../../live/channel.js';
import type { Runs } from '../runs.js';
import type { ThreadReader } from './read-thread.js';
import { createThreadLook } from './thread-look.js';
import type { ThreadEnded } from '../../contract/thread-events.js';
import type { ThreadLook } from './thread-look.js';

export type NextTurn =
  /** `open`: the thread has not taken yet what its run said. */
  | { state: 'begun'; turn: number; run_id: string; open: boolean }
  /** Its run is not there: it went with the retention. What was said is in the thread's record. */
  | { state: 'gone'; turn: number; run_id: string }
  | { state: 'ended'; end: ThreadEnded };

export interface TurnOptions {
  /** False: only a turn that has begun already. */
  follow?: boolean;
  signal?: AbortSignal;
}

export interface TurnReader {
  /** How many turns have begun. Throws `unknown_thread`. */
  count(): Promise<number>;
  /** The turn with this number, from 1, once it has begun; undefined when the signal aborts, or there is none now. */
  turn(number: number, options?: TurnOptions): Promise<NextTurn | undefined>;
  /** Nothing more is asked. */
  close(): void;
}

export interface TurnWatches {
  open(threadId: string): TurnReader;
  /** Something was done to the thread here: look now. */
  hint(threadId: string): void;
  close(): void;
}

interface Watch {
  threadId: string;
  readers: number;
  look: ThreadLook;
  /** An error is given to all of them. */
  waiting: Set<(error?: unknown) => void>;
  isTold: boolean;
  isHasty: boolean;
  isRunning: boolean;
  wake?: () => void;
}

const FASTEST_LOOK_MS = 100;
const SLOWEST_LOOK_MS = 2_000;
/** Where a channel tells of new turns, looking is for what it may have lost, and for the thread's end. */
const FASTEST_SAFETY_LOOK_MS = 500;
const SLOWEST_SAFETY_LOOK_MS = 5_000;
const SLOWER_EACH_TIME = 1.25;

interface TurnWatchesOptions {
  client: Client;
  reader: ThreadReader;
  channel: LiveChannel | undefined;
  describe: Runs['describe'];
  /** What keeps a thread from being read for now. */
  onObstacle: (threadId: string, error: unknown) => void;
}

export function createTurnWatches(options: TurnWatchesOptions): TurnWatches {
  const { client, reader, channel, describe, onObstacle } = options;
  const watches = new Map<string, Watch>();
  let closed = false;

  function watchOf(threadId: string): Watch {
    const known = watches.get(threadId);
    if (known !== undefined) return known;
    const look = createThreadLook(client, reader, threadId);
    const made: Watch = {
      threadId,
      readers: 0,
      look,
      waiting: new Set(),
      isTold: false,
      isHasty: false,
      isRunning: false,
    };
    watches.set(threadId, made);
    return made;
  }

  /** W4. */
  async function told<T>(watch: Watch, reading: Promise<T>): Promise<T> {
    try {
      return await reading;
    } catch (error) {
      if (!watch.isTold && mayPass(error)) {
        watch.isTold = true;
        onObstacle(watch.threadId, error);
      }
      throw error;
    }
  }

  async function looked(watch: Watch, looking: Promise<boolean>): Promise<boolean> {
    const isNew = await told(watch, looking);
    watch.isTold = false;
    return isNew;
  }

  /** For as long as somebody waits. */
  async function run(watch: Watch): Promise<void> {
    if (watch.isRunning) return;
    watch.isRunning = true;
    for (let quiet = 0; watch.waiting.size > 0; quiet++) {
      await pause(watch, quiet);
      if (watch.waiting.size === 0) break;
      let failure: unknown;
      try {
        if (!(await looked(watch, watch.look.again()))) continue;
      } catch (error) {
        // No worker answers, or the server is away: the thread is not over, so whoever waits goes on waiting.
        if (mayPass(error)) continue;
        failure = error;
      }
      const woken = [...watch.waiting];
      watch.waiting.clear();
      for (const wake of woken) wake(failure);
    }
    watch.isRunning = false;
  }

  async function pause(watch: Watch, quiet: number): Promise<void> {
    const [fastest, slowest] =
      channel === undefined ? [FASTEST_LOOK_MS, SLOWEST_LOOK_MS] : [FASTEST_SAFETY_LOOK_MS, SLOWEST_SAFETY_LOOK_MS];
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, Math.min(slowest, fastest * SLOWER_EACH_TIME ** quiet));
      watch.wake = () => {
        clearTimeout(timer);
        resolve();
      };
      if (watch.isHasty) watch.wake();
    });
    watch.isHasty = false;
    delete watch.wake;
  }

  function hurry(watch: Watch): void {
    watch.isHasty = true;
    watch.wake?.();
  }

  /** Until there is news since that version, or nobody wants to know any more. */
  async function news(watch: Watch, version: number, number: number, signal: AbortSignal | undefined): Promise<void> {
    const hint = () => hurry(watch);
    const unsubscribe = channel?.subscribe(turnRunId(watch.threadId, number), { live: hint, committed: hint });
    let wake: (error?: unknown) => void = () => {};
    const leave = () => wake();
    try {
      await new Promise<void>((resolve, reject) => {
        wake = (error) => (error === undefined ? resolve() : reject(error as Error));
        if (signal?.aborted === true || closed || watch.look.version() !== version) return resolve();
        watch.waiting.add(wake);
        signal?.addEventListener('abort', leave, { once: true });
        void run(watch);
      });
    } finally {
      watch.waiting.delete(wake);
      signal?.removeEventListener('abort', leave);
      unsubscribe?.();
      // Whoever was the last to wait ends the looking at once.
      if (watch.waiting.size === 0) watch.wake?.();
    }
  }

  return {
    open(threadId) {
      const watch = watchOf(threadId);
      const { look } = watch;
      let isKnown = false;
      let isOpen = true;
      watch.readers += 1;

      /** One who has read the thread before waits out what cannot be reached now. */
      async function unlessAway<T>(reading: Promise<T>, follow: boolean): Promise<T | undefined> {
        try {
          return await told(watch, reading);
        } catch (error) {
          if (isKnown && follow && isPerdureError(error) && mayPass(error)) return undefined;
          throw error;
        }
      }

      return {
        async count() {
          await looked(watch, look.afresh());
          isKnown = true;
          return look.turns();
        },
        async turn(number, { follow = true, signal } = {}) {
          await unlessAway(looked(watch, look.afresh()), follow);
          isKnown = true;
          while (!closed && isOpen && signal?.aborted !== true) {
            const version = look.version();
            const found = await unlessAway(find(describe, threadId, look, number), follow);
            if (found !== undefined || !follow) return found;
            await news(watch, version, number, signal);
          }
          return undefined;
        },
        close() {
          if (!isOpen) return;
          isOpen = false;
          watch.readers -= 1;
          if (watch.readers === 0 && watches.get(threadId) === watch) watches.delete(threadId);
        },
      };
    },
    hint(threadId) {
      const watch = watches.get(threadId);
      if (watch !== undefined) hurry(watch);
    },
    close() {
      closed = true;
      for (const watch of watches.values()) for (const wake of watch.waiting) wake();
    },
  };
}

/** Asking again may help. */
export function mayPass(error: unknown): boolean {
  return !isPerdureError(error) || ERRORS[error.code].retry;
}

/** Undefined: not yet. */
async function find(
  describe: Runs['describe'],
  threadId: string,
  look: ThreadLook,
  number: number,
): Promise<NextTurn | undefined> {
  const end = look.end();
  if (end !== undefined) return { state: 'ended', end };
  if (number > look.turns()) return undefined;
  const run_id = turnRunId(threadId, number);
  const open = look.openRun() === run_id;
  if (await isThere(describe, run_id)) return { state: 'begun', turn: number, run_id, open };
  // The thread has asked for the run of its open turn, and the server is about to start it.
  return open ? undefined : { state: 'gone', turn: number, run_id };
}

async function isThere(describe: Runs['describe'], runId: string): Promise<boolean> {
  try {
    await describe(runId);
    return true;
  } catch (error) {
    if (isPerdureError(error) && error.code === 'unknown_run') return false;
    throw error;
  }
}
