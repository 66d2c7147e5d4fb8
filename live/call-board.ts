/** The calls that run in a worker: cancels reach them by the channel, and the worker's peers know of them should it die. */
import type { LiveChannel } from './channel.js';
import type { OpenCall, Presence } from './presence.js';

export interface CallBoard {
  /** Until it is taken off again, the call hears that it may have been canceled. */
  put(call: OpenCall, onCancel: () => void): () => void;
  /** A cancel would be heard: else heartbeats have to bring it. */
  hearsCancels(): boolean;
}

const RECENT_MS = 3_000;

export function createCallBoard(channel: LiveChannel, presence?: Presence): CallBoard {
  const calls = new Map<OpenCall, () => void>();
  /** A call may begin in the moment in which it is canceled. */
  const recent = new Set<string>();
  channel.onCancel((id) => {
    recent.add(id);
    setTimeout(() => recent.delete(id), RECENT_MS).unref();
    for (const [call, onCancel] of calls) if (isBelow(call, id)) onCancel();
  });
  return {
    put(call, onCancel) {
      calls.set(call, onCancel);
      presence?.began(call);
      if ([...recent].some((id) => isBelow(call, id))) onCancel();
      return () => {
        if (calls.delete(call)) presence?.ended(call);
      };
    },
    hearsCancels: () => channel.hearsCancels() && presence?.isSeen() !== false,
  };
}

/** The ids of a tree begin with that of its root. */
function isBelow({ workflowId }: OpenCall, id: string): boolean {
  return workflowId === id || workflowId.startsWith(`${id}/`);
}
