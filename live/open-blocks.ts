/**
 * The blocks that are open in a run, with their text so far: what a reader that joins late is given. A closing
 * event, a retraction or the end of a step removes them.
 */
import type { DurableEvent } from '../contract/events.js';
import type { LiveEvent } from '../contract/live-events.js';

type Delta = Extract<LiveEvent, { index: number }>;

export interface OpenBlocks {
  /** False when the event belongs to a block that is closed or retracted: it must not be shown. */
  add(event: LiveEvent): boolean;
  close(event: DurableEvent): void;
  /** Per open block: its start, and one chunk that holds all its text. */
  replay(): LiveEvent[];
}

export function createOpenBlocks(): OpenBlocks {
  const blocks = new Map<string, { start?: LiveEvent; chunk?: Delta }>();
  /** step_id → the highest attempt that is void. */
  const retracted = new Map<string, number>();
  const closedBlocks = new Set<string>();
  const closedSteps = new Set<string>();
  const closedCalls = new Set<string>();
  /** Steps whose calls are complete: their arguments are in the log. */
  const requestedSteps = new Set<string>();
  const seenSteps = new Set<string>();

  return {
    add(event) {
      const step = event.step_id ?? '';
      if (event.type === 'attempt_retracted') {
        if (closedSteps.has(step) || (retracted.get(step) ?? 0) >= event.attempt) return false;
        retract(step, event.attempt);
        return true;
      }
      if (event.tool_call_id !== undefined && closedCalls.has(event.tool_call_id)) return false;
      if (closedSteps.has(step)) return false;
      if (!('block_id' in event)) return true;
      if (closedBlocks.has(event.block_id)) return false;
      if (event.type === 'tool_input_chunk' && requestedSteps.has(step)) return false;
      // A tool's output has attempts of its own; only a model call's are retracted by step.
      if (event.tool_call_id === undefined && event.attempt <= (retracted.get(step) ?? 0)) return false;
      if (!seenSteps.has(step)) {
        // Steps follow one another: what an earlier one left open is over, also where nobody watches and tells.
        seenSteps.add(step);
        remove((other) => other.step_id !== event.step_id);
      }
      const key = `${event.block_id}#${event.attempt}`;
      const open = blocks.get(key) ?? {};
      if ('index' in event) {
        if (open.chunk !== undefined && event.index <= open.chunk.index) return false;
        open.chunk = { ...event, text: (open.chunk?.text ?? '') + event.text };
      } else open.start = event;
      blocks.set(key, open);
      return true;
    },
    close(event) {
      const step = event.step_id ?? '';
      if (event.type === 'attempt_retracted') retract(step, event.attempt);
      else if (event.type === 'step_completed') {
        closedSteps.add(step);
        remove((other) => other.step_id === event.step_id);
      } else if (event.type === 'tool_result' && event.tool_call_id !== undefined) {
        closedCalls.add(event.tool_call_id);
        remove((other) => other.tool_call_id === event.tool_call_id);
      } else if ('block_id' in event && event.block_id !== undefined) {
        closedBlocks.add(event.block_id);
        remove((other) => 'block_id' in other && other.block_id === event.block_id);
      } else if (event.type === 'tool_requested') {
        requestedSteps.add(step);
        remove((other) => other.type === 'tool_input_chunk' && other.step_id === event.step_id);
      }
    },
    replay: () =>
      [...blocks.values()].flatMap(({ start, chunk }) => [start, chunk].filter((event) => event !== undefined)),
  };

  function retract(step: string, attempt: number): void {
    retracted.set(step, Math.max(attempt, retracted.get(step) ?? 0));
    remove(
      (other) =>
        'block_id' in other && other.tool_call_id === undefined && other.step_id === step && other.attempt <= attempt,
    );
  }

  function remove(isClosed: (event: LiveEvent) => boolean): void {
    for (const [key, { start, chunk }] of blocks) {
      const event = start ?? chunk;
      if (event !== undefined && isClosed(event)) blocks.delete(key);
    }
  }
}
