/**
 * Runs that have ended, on their way into the archive: in the background, a few at a time.
 *
 * Q1  No run waits for it, and none notices what becomes of it.
 * Q2  It holds so many runs and no more; what finds no room, or cannot be read now, is left to the sweeper.
 * Q3  While the database is away, one line says so, what waits goes on waiting, and one try in a while asks for it.
 */
import { isPerdureError } from '../../contract/errors.js';
import type { Archiving } from './archive-run.js';

export interface ArchiveQueue {
  add(runId: string): void;
  /** What is under way is finished, and what waits is tried once more, for a while; then it is left to the sweeper. */
  stop(): Promise<void>;
}

interface ArchiveQueueOptions {
  archive: (runId: string) => Promise<Archiving>;
  /** It is not coming back: the run is in the archive, or left to the sweeper. */
  onSettled?: (runId: string) => void;
  report: (line: string) => void;
  /** Runs that wait. */
  room?: number;
  atOnce?: number;
}

const ROOM = 10_000;
const AT_ONCE = 2;
/** The server is about to take the end of the run; a canceled one has a last step before that. */
const WAITS_MS = [10, 20, 50, 100, 250, 500, 1_000, 2_000, 5_000];
const AWAY_MS = [500, 1_000, 2_000, 5_000, 10_000];
/** Those that are tried again are few, and at the end. */
const LOOKED_AT = 100;
/** So long it may take to finish when the worker stops. */
const LAST_CALL_MS = 3_000;

export function createArchiveQueue(options: ArchiveQueueOptions): ArchiveQueue {
  const { archive, report, onSettled = () => {}, room = ROOM, atOnce = AT_ONCE } = options;
  /** In the order in which they ended; what is tried again is at the end. */
  const waiting = new Map<string, { tries: number; from: number }>();
  const running = new Set<Promise<void>>();
  let timer: NodeJS.Timeout | undefined;
  let isStopping = false;
  let isFull = false;
  /** How often in a row the database was found away. */
  let away = 0;
  let restUntil = 0;

  function pump(): void {
    clearTimeout(timer);
    const most = away > 0 ? 1 : atOnce;
    for (let next = due(); next !== undefined && running.size < most; next = due()) {
      const [runId, { tries }] = next;
      waiting.delete(runId);
      const one = tryOnce(runId, tries).finally(() => {
        running.delete(one);
        pump();
      });
      running.add(one);
    }
    if (waiting.size === 0 || running.size >= most) return;
    const soonest = Math.min(...[...waiting.values()].slice(0, LOOKED_AT).map(({ from }) => from));
    timer = setTimeout(pump, Math.max(1, Math.max(soonest, restUntil) - Date.now()));
    timer.unref();
  }

  function due(): [string, { tries: number; from: number }] | undefined {
    if (isStopping) return waiting.entries().next().value;
    const now = Date.now();
    if (now < restUntil) return undefined;
    let looked = 0;
    for (const entry of waiting) {
      if (entry[1].from <= now) return entry;
      if (++looked === LOOKED_AT) return undefined;
    }
    return undefined;
  }

  async function tryOnce(runId: string, tries: number): Promise<void> {
    try {
      const result = await archive(runId);
      if (away > 0) report('archive: the database is back, and takes in what has ended meanwhile');
      away = 0;
      if (result !== 'open' || !again(runId, tries)) onSettled(runId);
    } catch (error) {
      if (isAway(error)) beAway(runId, tries, error);
      else if (!again(runId, tries)) {
        // A worker that stops leaves some behind, as is meant.
        if (!isStopping)
          report(`archive: run ${runId} could not be copied, and is left to the sweeper: ${messageOf(error)}`);
        onSettled(runId);
      }
    }
  }

  function again(runId: string, tries: number): boolean {
    const wait = WAITS_MS[tries];
    if (wait === undefined || isStopping) return false;
    waiting.set(runId, { tries: tries + 1, from: Date.now() + wait });
    return true;
  }

  function beAway(runId: string, tries: number, error: unknown): void {
    if (away === 0) report(`archive: ${messageOf(error)}. Runs go on, and are archived when it is back.`);
    restUntil = Date.now() + (AWAY_MS[Math.min(away, AWAY_MS.length - 1)] ?? 0);
    away += 1;
    if (isStopping) waiting.clear();
    else waiting.set(runId, { tries, from: 0 });
  }

  return {
    add(runId) {
      if (isStopping || waiting.has(runId)) return;
      if (waiting.size >= room) {
        if (!isFull) report(`archive: ${room} runs wait to be copied; those that end now are left to the sweeper`);
        isFull = true;
        onSettled(runId);
        return;
      }
      isFull = false;
      waiting.set(runId, { tries: 0, from: Date.now() });
      if (running.size === 0 || away === 0) pump();
    },
    async stop() {
      isStopping = true;
      pump();
      const over = new Promise<'over'>((resolve) => setTimeout(resolve, LAST_CALL_MS, 'over').unref());
      while (running.size > 0 && (await Promise.race([...running, over])) !== 'over');
      waiting.clear();
      clearTimeout(timer);
    },
  };
}

function isAway(error: unknown): boolean {
  return isPerdureError(error) && (error.code === 'database_unreachable' || error.code === 'database_unusable');
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
