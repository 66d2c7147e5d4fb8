/** What a crash may change in a run's log, and what a reader must have got of it. */
import { expect } from 'vitest';
import type { StreamEvent } from '../../client/index.js';
import type { DurableEvent } from '../../contract/events.js';
import { durable, ofType } from '../support/world.js';
import type { Reader } from './crash-world.js';

/** The calls whose outcome the crash made unknown. */
export function unknownCalls(log: readonly DurableEvent[]): string[] {
  return ofType(log, 'tool_result').flatMap((event) =>
    event.status === 'error' && event.failure.kind === 'outcome_unknown' ? [event.tool_call_id ?? ''] : [],
  );
}

/** Without times, ids of the run, durations, attempts and what they were charged, and the results of the given calls; all else is compared. */
function normalise(log: readonly DurableEvent[], unknown: readonly string[]): unknown[] {
  return log
    .filter(({ type }) => type !== 'attempt_retracted' && type !== 'tool_retry')
    .map((event, index) => {
      const { at: _at, event_id: _id, run_id: _run, root_run_id: _root, ...rest } = event;
      const {
        duration_ms: _duration,
        attempt: _attempt,
        attempts: _attempts,
        ...told
      } = rest as Partial<Record<string, unknown>>;
      // Numbers are gapless (the reader's check says so); events that only a crash brings are not counted.
      const kept: Record<string, unknown> = { ...told, seq: index };
      if (event.type === 'run_completed') {
        // What was used is the same; what lost attempts were charged is a trace of them.
        const { charged_tokens: _own, charged_cost_usd: _cost, ...usage } = event.usage;
        const { charged_tokens: _tree, charged_cost_usd: _treeCost, ...tree_usage } = event.tree_usage;
        Object.assign(kept, { usage, tree_usage });
      }
      if (event.type === 'tool_result' && unknown.includes(event.tool_call_id ?? '')) {
        for (const field of ['status', 'failure', 'content']) delete kept[field];
      }
      return kept;
    });
}

export function expectSameStory(disturbed: readonly DurableEvent[], undisturbed: readonly DurableEvent[]): void {
  const unknown = unknownCalls(disturbed);
  expect(unknownCalls(undisturbed)).toEqual([]);
  expect(normalise(disturbed, unknown)).toEqual(normalise(undisturbed, unknown));
}

/**
 * What two readers must agree on after a crash: all but the times of events that came while no worker was there. A
 * query that waits for the next worker makes it handle them before their workflow task, on an older clock than replay.
 */
export function expectSameEvents(one: readonly DurableEvent[], other: readonly DurableEvent[]): void {
  const withoutTimes = (log: readonly DurableEvent[]) =>
    log.map((event) => {
      const { at: _at, duration_ms: _duration, ...rest } = event as DurableEvent & { duration_ms?: number };
      return rest;
    });
  expect(withoutTimes(one)).toEqual(withoutTimes(other));
}

type Block = { step: string; attempt: number; text: string };

/**
 * Every durable event once and in order; no delta of a retracted attempt after its retraction; and what the deltas
 * showed is what the closing event says, or its beginning: who polls may get the end of a block with its closing.
 */
export function expectWholeStory({ events }: Reader): DurableEvent[] {
  const log = durable(events);
  expect(log.map((event) => event.seq)).toEqual(log.map((_, index) => index));
  expect(log.at(-1)?.type).toBe('run_completed');
  expect(events.at(-1)).toBe(log.at(-1));
  expect(events.filter((event) => event.type === 'live_dropped' || event.type === 'stream_ended')).toEqual([]);

  const open = new Map<string, Block>();
  const retracted = new Map<string, number>();
  for (const event of events) {
    const step = 'step_id' in event ? (event.step_id ?? '') : '';
    if (event.type === 'attempt_retracted') {
      retracted.set(step, Math.max(event.attempt, retracted.get(step) ?? 0));
      for (const [id, block] of open) if (block.step === step && block.attempt <= event.attempt) open.delete(id);
    } else if (isDelta(event)) {
      const known = open.get(event.block_id) ?? { step, attempt: event.attempt, text: '' };
      expect(event.attempt, `a delta of ${event.block_id} after its retraction`).toBeGreaterThan(
        retracted.get(step) ?? 0,
      );
      expect(event.attempt, `attempts of ${event.block_id} mixed`).toBe(known.attempt);
      open.set(event.block_id, { ...known, text: known.text + event.text });
    } else if (event.type === 'text_end' || event.type === 'thinking_end' || event.type === 'summary_final') {
      const block = open.get(event.block_id ?? '');
      open.delete(event.block_id ?? '');
      if (block === undefined) continue;
      expect(block.attempt).toBe(event.attempt);
      expect(event.text.slice(0, block.text.length), `deltas of ${event.block_id}`).toBe(block.text);
    }
  }
  expect([...open.keys()], 'blocks that nothing closed').toEqual([]);
  return log;
}

/** What the reader was shown live of one attempt at a block. */
export function shownOf({ events }: Reader, blockId: string, attempt: number): string {
  return events
    .filter(isDelta)
    .flatMap((event) => (event.block_id === blockId && event.attempt === attempt ? [event.text] : []))
    .join('');
}

function isDelta(event: StreamEvent) {
  return event.type === 'text_chunk' || event.type === 'thinking_chunk' || event.type === 'summary_chunk';
}
