/**
 * Live events that came by signal (the `temporal` channel), kept while their block is open so that a reader who
 * polls can join late. The durable event that closes a block carries the whole text, so what it closes is dropped.
 */
import { closes } from '../contract/closes.js';
import type { DurableEvent } from '../contract/events.js';
import type { LiveEvent } from '../contract/live-events.js';
import { LIVE_BUFFER_CHARS, PAGE_CHARS } from '../contract/sizes.js';

export interface LiveBuffer {
  /** Anyone can send a signal: what is no live event is passed over. */
  add(events: unknown): void;
  close(event: DurableEvent): void;
  read(from: number): { live: LiveEvent[]; live_next: number };
  /** The number of the next one: carried, since a reader's own count goes on across continue-as-new. */
  next(): number;
}

/** What an event takes beside its text. */
const ENVELOPE_CHARS = 300;

export function createLiveBuffer(first = 0): LiveBuffer {
  let held: { n: number; event: LiveEvent }[] = [];
  let chars = 0;
  let next = first;

  return {
    add(events) {
      if (!Array.isArray(events)) return;
      for (const event of events) {
        if (!isLiveEvent(event)) continue;
        if (event.type === 'attempt_retracted') drop(event);
        // What does not fit comes with the closing event.
        if (chars + sizeOf(event) > LIVE_BUFFER_CHARS) continue;
        held.push({ n: next++, event });
        chars += sizeOf(event);
      }
    },
    close: drop,
    read(from) {
      const live: LiveEvent[] = [];
      let room = PAGE_CHARS;
      for (const { n, event } of held) {
        if (n < from) continue;
        if (room <= 0) return { live, live_next: n };
        live.push(event);
        room -= sizeOf(event);
      }
      return { live, live_next: next };
    },
    next: () => next,
  };

  function drop(end: DurableEvent | LiveEvent): void {
    if (held.length === 0) return;
    // Steps follow one another: what came too late for an earlier one is over.
    held = end.type === 'step_started' ? [] : held.filter(({ event }) => !closes(end, event));
    chars = held.reduce((sum, { event }) => sum + sizeOf(event), 0);
  }
}

function sizeOf(event: LiveEvent): number {
  return 'text' in event ? event.text.length + ENVELOPE_CHARS : ENVELOPE_CHARS;
}

const TEXTS = ['type', 'live_id', 'run_id'] as const;
const OPTIONAL_TEXTS = ['step_id', 'tool_call_id', 'block_id', 'text', 'name', 'message', 'reason'] as const;
const OPTIONAL_NUMBERS = ['attempt', 'index', 'offset', 'fraction'] as const;

/** As far as whoever reads it relies on its form. */
function isLiveEvent(value: unknown): value is LiveEvent {
  if (typeof value !== 'object' || value === null) return false;
  const fields = value as Record<string, unknown>;
  const isOptional = (name: string, type: string) => fields[name] === undefined || typeof fields[name] === type;
  return (
    TEXTS.every((name) => typeof fields[name] === 'string') &&
    OPTIONAL_TEXTS.every((name) => isOptional(name, 'string')) &&
    OPTIONAL_NUMBERS.every((name) => isOptional(name, 'number')) &&
    (fields['index'] === undefined || (typeof fields['text'] === 'string' && typeof fields['block_id'] === 'string'))
  );
}
