/** The open blocks of the runs that a process speaks of, within a bound: the oldest runs are forgotten first. Their text comes with the closing event. */
import type { DurableEvent } from '../contract/events.js';
import type { LiveEvent } from '../contract/live-events.js';
import { createOpenBlocks } from './open-blocks.js';
import type { OpenBlocks } from './open-blocks.js';

const KEPT_RUNS = 5_000;
/** In characters, of all of them together. */
export const KEPT_CHARS = 16 * 1024 * 1024;

/** A run that has ended: whatever still speaks, such as a tool that ignores its abort, is not heard. */
const ENDED: OpenBlocks = { add: () => undefined, close() {}, replay: () => [], size: () => 0 };

export interface OpenRuns {
  /** What may be shown of the events. */
  add(runId: string, events: readonly LiveEvent[]): LiveEvent[];
  close(runId: string, events: readonly DurableEvent[]): void;
  /** Per open block: its start, and one chunk that holds all its text. */
  replay(runId: string): LiveEvent[];
}

export function createOpenRuns(keptChars = KEPT_CHARS): OpenRuns {
  const open = new Map<string, OpenBlocks>();
  let chars = 0;

  return {
    add(runId, events) {
      const blocks = open.get(runId) ?? keep(runId, createOpenBlocks());
      const before = blocks.size();
      const shown = events.flatMap((event) => blocks.add(event) ?? []);
      chars += blocks.size() - before;
      while (chars > keptChars) forgetOldest();
      return shown;
    },
    close(runId, events) {
      const blocks = open.get(runId);
      const before = blocks?.size() ?? 0;
      for (const event of events) blocks?.close(event);
      chars += (blocks?.size() ?? 0) - before;
      if (events.some((event) => event.type === 'run_completed')) keep(runId, ENDED);
    },
    replay: (runId) => open.get(runId)?.replay() ?? [],
  };

  function keep(runId: string, blocks: OpenBlocks): OpenBlocks {
    chars -= open.get(runId)?.size() ?? 0;
    open.delete(runId);
    open.set(runId, blocks);
    if (open.size > KEPT_RUNS) forgetOldest();
    return blocks;
  }

  function forgetOldest(): void {
    const [oldest] = open;
    if (oldest === undefined) return;
    chars -= oldest[1].size();
    open.delete(oldest[0]);
  }
}
