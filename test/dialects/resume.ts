/** A reader that goes away in the middle of a stream and comes back, as the bridge and a transport serve it. */
import type { DurableEvent } from '../../contract/events.js';
import type { LiveEvent, StreamEvent } from '../../contract/live-events.js';
import type { DialectName } from '../../dialects/index.js';
import { createOpenBlocks } from '../../live/open-blocks.js';
import { createTeller } from './tell-all.js';
import type { Said } from './tell-all.js';

export interface Told {
  event: StreamEvent;
  said: Said[];
}

export function isDurable(event: StreamEvent): event is DurableEvent {
  return 'seq' in event;
}

/** Reads `stream` up to `left`, is away until `back`, and then reads on from its cursor. */
export function readAndResume(name: DialectName, stream: readonly StreamEvent[], left: number, back: number): Told[] {
  const before = createTeller(name);
  const first = stream.slice(0, left).map((event) => ({ event, said: before.tell(event) }));
  const runId = stream[0]?.run_id ?? '';
  const shown = before.shown(runId);
  if (shown !== undefined && !/^[A-Za-z0-9_-]+$/.test(shown)) throw new Error(`${shown} does not fit into a URL`);

  const after = createTeller(name);
  for (const event of stream.slice(0, left).filter(isDurable)) after.tell(event);
  if (shown !== undefined) after.resume(runId, shown);
  const missed = stream.slice(left, back).filter(isDurable);
  const second = [...missed, ...openAt(stream, back), ...stream.slice(back)];
  return [...first, ...second.map((event) => ({ event, said: after.tell(event) }))];
}

/** The text so far of each block that is open at this point. */
function openAt(stream: readonly StreamEvent[], at: number): LiveEvent[] {
  const open = createOpenBlocks();
  for (const event of stream.slice(0, at)) {
    if (isDurable(event)) open.close(event);
    else if ('live_id' in event) open.add(event);
  }
  return open.replay();
}
