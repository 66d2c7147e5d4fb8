/**
 * The blocks that are open in a run, with their text so far: what a reader that joins late is given.
 *
 * O1  What a durable event or a retraction has ended is not told any more (`contract/closes.ts`).
 * O2  The text of a block has no gap: a chunk that begins behind what is there is left out, and so are those after it.
 *     The closing event has it all.
 */
import { closes, ENDING_KINDS } from '../contract/closes.js';
import type { DurableEvent } from '../contract/events.js';
import type { LiveEvent } from '../contract/live-events.js';

export type Delta = Extract<LiveEvent, { index: number }>;
type Ending = DurableEvent | LiveEvent;

interface OpenBlock {
  start?: LiveEvent;
  chunk?: Delta;
}

export interface OpenBlocks {
  /** What may be shown of the event; undefined where it belongs to what is over, or was told already. */
  add(event: LiveEvent): LiveEvent | undefined;
  close(event: DurableEvent): void;
  /** Per open block: its start, and one chunk that holds all its text. */
  replay(): LiveEvent[];
  /** How many characters it holds. */
  size(): number;
}

export function createOpenBlocks(): OpenBlocks {
  const blocks = new Map<string, OpenBlock>();
  /** Events that ended something: by step and by call, so that it can be forgotten with its step. */
  const ends = new Map<string, Ending[]>();
  const endedSteps = new Set<string>();
  const seenSteps = new Set<string>();
  let isRunOver = false;
  let size = 0;

  function note(event: Ending): void {
    const step = event.step_id ?? '';
    if (event.type === 'run_completed') isRunOver = true;
    else if (event.type === 'step_completed') {
      endedSteps.add(step);
      ends.delete(step);
    } else if (ENDING_KINDS.has(event.type)) ends.set(step, [...(ends.get(step) ?? []), event]);
    if (!ENDING_KINDS.has(event.type)) return;
    for (const [key, { start, chunk }] of blocks) {
      const told = start ?? chunk;
      if (told !== undefined && closes(event, told)) remove(key);
    }
  }

  function remove(key: string): void {
    size -= blocks.get(key)?.chunk?.text.length ?? 0;
    blocks.delete(key);
  }

  function isOver(event: LiveEvent): boolean {
    const step = event.step_id ?? '';
    return isRunOver || endedSteps.has(step) || (ends.get(step) ?? []).some((end) => closes(end, event));
  }

  /** Steps follow one another: what an earlier one left open is over, also where nobody watches and tells. */
  function leaveEarlierSteps(step: string): void {
    if (seenSteps.has(step)) return;
    seenSteps.add(step);
    for (const [key, { start, chunk }] of blocks) if ((start ?? chunk)?.step_id !== step) remove(key);
  }

  return {
    add(event) {
      if (event.type === 'attempt_retracted') {
        const step = event.step_id ?? '';
        const before = (ends.get(step) ?? []).some(
          (end) => end.type === 'attempt_retracted' && end.attempt >= event.attempt,
        );
        if (before || isRunOver || endedSteps.has(step)) return undefined;
        note(event);
        return event;
      }
      if (isOver(event)) return undefined;
      if (!('block_id' in event)) return event;
      leaveEarlierSteps(event.step_id ?? '');
      const key = `${event.block_id}#${event.attempt}`;
      const open = blocks.get(key) ?? {};
      blocks.set(key, open);
      if (!('index' in event)) {
        open.start = event;
        return event;
      }
      const fresh = unseenPart({ length: open.chunk?.text.length ?? 0, index: open.chunk?.index ?? -1 }, event);
      if (fresh === undefined) return undefined;
      const text = (open.chunk?.text ?? '') + fresh.text;
      open.chunk = { ...event, ...(event.offset === undefined ? {} : { offset: 0 }), text };
      size += fresh.text.length;
      return fresh;
    },
    close: note,
    replay: () =>
      [...blocks.values()].flatMap(({ start, chunk }) => [start, chunk].filter((event) => event !== undefined)),
    size: () => size,
  };
}

/** The part of a chunk that comes after what is there; undefined where there is none, or something is missing before it. */
export function unseenPart(seen: { length: number; index: number }, chunk: Delta): Delta | undefined {
  const { length, index } = seen;
  const { offset, text } = chunk;
  // Of a worker that does not say where its chunks begin.
  if (offset === undefined) return chunk.index > index ? chunk : undefined;
  if (offset > length || offset + text.length <= length) return undefined;
  return offset === length ? chunk : { ...chunk, offset: length, text: text.slice(length - offset) };
}
