/**
 * The live channel inside one process: worker and readers share it. It keeps the open blocks of the runs that it
 * hears of, so that a reader who joins in the middle of an answer gets the text so far.
 */
import type { ChannelListener, LiveChannel } from './channel.js';
import { createOpenRuns, KEPT_CHARS } from './open-runs.js';

/** Where nobody in this process reads what its worker says. */
export const NO_CHANNEL: LiveChannel = {
  publishLive() {},
  publishCommitted() {},
  watched: () => false,
  subscribe: () => () => {},
  expect() {},
  isUp: () => false,
  publishCancel() {},
  onCancel: () => () => {},
  hearsCancels: () => false,
  close: () => Promise.resolve(),
};

export function createMemoryChannel(keptChars = KEPT_CHARS): LiveChannel {
  const listeners = new Map<string, Set<ChannelListener>>();
  const canceled = new Set<(id: string) => void>();
  const open = createOpenRuns(keptChars);

  return {
    ...NO_CHANNEL,
    publishLive(runId, events, origin) {
      const shown = open.add(runId, events);
      if (shown.length > 0) for (const listener of listeners.get(runId) ?? []) listener.live(shown, origin);
    },
    publishCommitted(runId, events, origin) {
      open.close(
        runId,
        events.map(({ event }) => event),
      );
      for (const listener of listeners.get(runId) ?? []) listener.committed(events, origin);
    },
    watched: (runId) => listeners.has(runId),
    subscribe(runId, listener) {
      const ofRun = listeners.get(runId) ?? new Set();
      listeners.set(runId, ofRun.add(listener));
      const soFar = open.replay(runId);
      if (soFar.length > 0) listener.live(soFar);
      listener.caughtUp?.();
      return () => {
        ofRun.delete(listener);
        if (ofRun.size === 0 && listeners.get(runId) === ofRun) listeners.delete(runId);
      };
    },
    isUp: () => true,
    publishCancel(id) {
      for (const listener of canceled) listener(id);
    },
    onCancel(listener) {
      canceled.add(listener);
      return () => void canceled.delete(listener);
    },
  };
}
