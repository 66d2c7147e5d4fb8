/**
 * The live channel inside one process: worker and readers share it. It keeps the open blocks of the runs that it
 * hears of, so that a reader who joins in the middle of an answer gets the text so far.
 */
import type { LiveEvent } from '../contract/live-events.js';
import type { ChannelListener, LiveChannel } from './channel.js';
import { createOpenBlocks } from './open-blocks.js';
import type { OpenBlocks } from './open-blocks.js';

/** Runs whose open blocks are kept; the oldest are forgotten first. Their text comes with the closing event. */
const KEPT_RUNS = 5_000;

/** A run that has ended: whatever still speaks, such as a tool that ignores its abort, is not heard. */
const ENDED: OpenBlocks = { add: () => false, close() {}, replay: () => [] };

export function createMemoryChannel(): LiveChannel {
  const listeners = new Map<string, Set<ChannelListener>>();
  const open = new Map<string, OpenBlocks>();

  return {
    publishLive(runId, events) {
      const blocks = blocksOf(runId);
      const shown = events.filter((event) => blocks.add(event));
      if (shown.length > 0) for (const listener of listeners.get(runId) ?? []) listener.live(shown);
    },
    publishCommitted(runId, events) {
      const blocks = open.get(runId);
      for (const { event } of events) blocks?.close(event);
      if (events.some(({ event }) => event.type === 'run_completed')) keep(runId, ENDED);
      for (const listener of listeners.get(runId) ?? []) listener.committed(events);
    },
    watched: (runId) => listeners.has(runId),
    subscribe(runId, listener) {
      const ofRun = listeners.get(runId) ?? new Set();
      listeners.set(runId, ofRun.add(listener));
      const soFar: LiveEvent[] = open.get(runId)?.replay() ?? [];
      if (soFar.length > 0) listener.live(soFar);
      return () => {
        ofRun.delete(listener);
        if (ofRun.size === 0 && listeners.get(runId) === ofRun) listeners.delete(runId);
      };
    },
  };

  function blocksOf(runId: string): OpenBlocks {
    const known = open.get(runId);
    if (known !== undefined) return known;
    return keep(runId, createOpenBlocks());
  }

  function keep(runId: string, blocks: OpenBlocks): OpenBlocks {
    open.set(runId, blocks);
    if (open.size > KEPT_RUNS) open.delete(open.keys().next().value as string);
    return blocks;
  }
}
