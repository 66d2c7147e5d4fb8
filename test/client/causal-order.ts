/** Invariant 3 and 5 of the design, on a flattened stream. */
import { expect } from 'vitest';
import type { StreamEvent } from '../../client/index.js';
import { durable } from '../support/world.js';

export function runsIn(events: readonly StreamEvent[]): string[] {
  return [...new Set(events.map((event) => event.run_id))];
}

export function ofRun<E extends StreamEvent>(events: readonly E[], runId: string): E[] {
  return events.filter((event) => event.run_id === runId);
}

/** Of a stream that was read from its beginning to its end, however often it was left on the way. */
export function checkCausalOrder(events: readonly StreamEvent[], root: string): void {
  const first = new Map<string, number>();
  const linked = new Map<string, number>();
  const ended = new Map<string, number>();
  for (const [n, event] of events.entries()) {
    if (!first.has(event.run_id)) first.set(event.run_id, n);
    expect(ended.has(event.run_id), `${event.type} of ${event.run_id} after its end`).toBe(false);
    if (event.type === 'agent_run_started') linked.set(event.link.run_id, n);
    if (event.type === 'run_completed' || event.type === 'stream_ended') {
      const below = [...linked.keys()].filter((id) => id.startsWith(`${event.run_id}/`) && !ended.has(id));
      expect(below, `runs open below ${event.run_id} at its end`).toEqual([]);
      ended.set(event.run_id, n);
    }
    if (event.type === 'tool_result' && event.link !== undefined) {
      expect(ended.has(event.link.run_id), `the end of ${event.link.run_id} before its result`).toBe(true);
    }
  }
  for (const [runId, n] of first) {
    if (runId !== root) expect(linked.get(runId), `the link to ${runId} before its events`).toBeLessThan(n);
    const seqs = ofRun(durable(events), runId).map((event) => event.seq);
    expect(seqs).toEqual(seqs.map((_, index) => index));
    expect(new Set(ofRun(durable(events), runId).map((event) => event.agent_id)).size).toBe(1);
  }
  expect([...ended.keys()].toSorted()).toEqual([...first.keys()].toSorted());
  expect(ended.get(root)).toBe(events.length - 1);
}
