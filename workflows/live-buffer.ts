/**
 * Live events that came by signal (the `temporal` channel), kept while their block is open so that a reader who
 * polls can join late. The durable event that closes a block carries the whole text, so what it closes is dropped.
 */
import type { DurableEvent } from '../contract/events.js';
import type { LiveEvent } from '../contract/live-events.js';
import { PAGE_CHARS } from '../contract/sizes.js';

export interface LiveBuffer {
  add(events: readonly LiveEvent[]): void;
  close(event: DurableEvent): void;
  read(from: number): { live: LiveEvent[]; live_next: number };
  /** The number of the next one: carried, since a reader's own count goes on across continue-as-new. */
  next(): number;
}

export function createLiveBuffer(first = 0): LiveBuffer {
  let held: { n: number; event: LiveEvent }[] = [];
  let next = first;

  return {
    add(events) {
      for (const event of events) {
        if (event.type === 'attempt_retracted') drop((other) => isRetracted(other, event.step_id, event.attempt));
        held.push({ n: next++, event });
      }
    },
    close(event) {
      if (event.type === 'step_completed') drop((other) => other.step_id === event.step_id);
      else if (event.type === 'tool_result') drop((other) => other.tool_call_id === event.tool_call_id);
      else if ('block_id' in event) drop((other) => 'block_id' in other && other.block_id === event.block_id);
    },
    read(from) {
      const live: LiveEvent[] = [];
      let room = PAGE_CHARS;
      for (const { n, event } of held) {
        if (n < from) continue;
        if (room <= 0) return { live, live_next: n };
        live.push(event);
        room -= 'text' in event ? event.text.length + 300 : 300;
      }
      return { live, live_next: next };
    },
    next: () => next,
  };

  function drop(closed: (event: LiveEvent) => boolean): void {
    if (held.length > 0) held = held.filter(({ event }) => !closed(event));
  }
}

function isRetracted(event: LiveEvent, stepId: string | undefined, attempt: number): boolean {
  return 'block_id' in event && event.step_id === stepId && event.attempt <= attempt;
}
