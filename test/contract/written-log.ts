/** Events written by hand: drafts get the envelope that the log would give them. */
import type { DurableEvent, EventDraft } from '../../contract/events.js';
import { eventId } from '../../contract/ids.js';
import type { LiveEvent } from '../../contract/live-events.js';
import type { RunHandle } from '../../contract/run.js';

export const handle: RunHandle = { run_id: 'run_1', agent_id: 'demo.assistant', root_run_id: 'run_1' };

const START = Date.parse('2026-03-14T09:26:53.000Z');

export function writtenLog(drafts: readonly EventDraft[], run: RunHandle = handle): DurableEvent[] {
  return drafts.map(({ type, ...rest }, seq) => {
    const at = new Date(START + seq * 1_000).toISOString();
    return { type, seq, event_id: eventId(run.run_id, seq), at, ...run, ...rest } as DurableEvent;
  });
}

type LiveDraft<E> = E extends LiveEvent ? Omit<E, keyof RunHandle | 'live_id'> : never;

/** A live event of `step_1`, unless it says otherwise. */
export function live(draft: LiveDraft<LiveEvent>): LiveEvent {
  const { type, ...rest } = draft;
  const live_id = 'index' in draft ? `${draft.block_id}#${draft.attempt}.${draft.index}` : `live_${type}`;
  return { type, live_id, ...handle, step_id: 'step_1', ...rest } as LiveEvent;
}
