import type { Client } from '@temporalio/client';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { LiveEvent } from '../../contract/live-events.js';
import { createSignalPublishing, mergeInto } from '../../live/signal-publisher.js';
import { live } from '../contract/written-log.js';

const chunk = (index: number, text: string, block = 'step_1.block_1', attempt = 1) =>
  live({ type: 'text_chunk', block_id: block, attempt, index, text });
const start = live({ type: 'text_start', block_id: 'step_1.block_1', attempt: 1 });
const execution = { workflowId: 'run_1', runId: 'execution_1' };

describe('merging live events', () => {
  const any = fc
    .record({
      type: fc.constantFrom('text_chunk' as const, 'thinking_chunk' as const, 'text_start' as const),
      block: fc.constantFrom('a', 'b'),
      attempt: fc.integer({ min: 1, max: 2 }),
      index: fc.nat(9),
      text: fc.string({ maxLength: 3 }),
    })
    .map(({ type, block, attempt, index, text }) =>
      type === 'text_start'
        ? live({ type, block_id: block, attempt })
        : live({ type, block_id: block, attempt, index, text }),
    );

  it('loses no text, keeps the order, and leaves no two neighbours that could be one', () => {
    fc.assert(
      fc.property(fc.array(any, { maxLength: 20 }), (events) => {
        const batch = merged(events);
        const kinds = events.map(kindOf);
        expect(batch.map(kindOf)).toEqual(kinds.filter((kind, i) => kind === 'start' || kind !== kinds[i - 1]));
        expect(batch.map(textOf).join('')).toBe(events.map(textOf).join(''));
      }),
    );
  });

  it('gives the merged chunk the index and the id of its last part', () => {
    expect(merged([chunk(0, 'a'), chunk(1, 'b'), chunk(2, 'c')])).toEqual([chunk(2, 'abc')]);
  });

  it.each([
    ['blocks', chunk(1, 'b', 'step_1.block_2')],
    ['attempts', chunk(1, 'b', 'step_1.block_1', 2)],
    ['types', live({ type: 'thinking_chunk', block_id: 'step_1.block_1', attempt: 1, index: 1, text: 'b' })],
  ])('does not merge across %s', (_what, other) => {
    expect(merged([chunk(0, 'a'), other])).toEqual([chunk(0, 'a'), other]);
  });

  it('does not merge over what came between', () => {
    const retraction = live({ type: 'attempt_retracted', attempt: 1 });
    expect(merged([chunk(0, 'a'), retraction, chunk(1, 'b')])).toEqual([chunk(0, 'a'), retraction, chunk(1, 'b')]);
  });

  it('leaves the events that it is given as they were', () => {
    const first = chunk(0, 'a');
    merged([first, chunk(1, 'b')]);
    expect(first).toEqual(chunk(0, 'a'));
  });
});

describe('a publisher by signal', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('sends what was published within an interval as one signal to that execution, merged and in order', async () => {
    const { client, signals, targets } = fakeClient();
    const publisher = createSignalPublishing(fail).for(execution, client);
    for (const event of [start, chunk(0, 'Hel'), chunk(1, 'lo')]) publisher.publish(event);
    expect(signals).toEqual([]);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(signals).toEqual([['live', [start, chunk(1, 'Hello')]]]);
    expect(targets).toEqual([['run_1', 'execution_1']]);
  });

  it('sends five signals a second at most, however many deltas there are', async () => {
    const { client, signals } = fakeClient();
    const publisher = createSignalPublishing(fail).for(execution, client);
    for (let index = 0; index < 200; index++) {
      publisher.publish(chunk(index, 'x'));
      await vi.advanceTimersByTimeAsync(10);
    }
    await publisher.flush();
    expect(signals.length).toBeLessThanOrEqual(11);
    expect(signals.length).toBeGreaterThan(5);
    expect(
      signals
        .flatMap(([, events]) => events)
        .map(textOf)
        .join(''),
    ).toBe('x'.repeat(200));
  });

  it('has sent everything, in order, when a flush resolves', async () => {
    const { client, signals, release } = fakeClient({ held: true });
    const publisher = createSignalPublishing(fail).for(execution, client);
    publisher.publish(chunk(0, 'a'));
    await vi.advanceTimersByTimeAsync(200);
    publisher.publish(chunk(1, 'b'));
    const flushed = vi.fn<() => void>();
    const flushing = publisher.flush().then(flushed);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(signals).toEqual([['live', [chunk(0, 'a')]]]);
    expect(flushed).not.toHaveBeenCalled();
    release();
    await flushing;
    expect(signals).toEqual([
      ['live', [chunk(0, 'a')]],
      ['live', [chunk(1, 'b')]],
    ]);
  });

  it('does not hold its activity for ever when signals hang', async () => {
    const { client } = fakeClient({ held: true });
    const publisher = createSignalPublishing(fail).for(execution, client);
    publisher.publish(chunk(0, 'a'));
    const flushed = vi.fn<() => void>();
    void publisher.flush().then(flushed);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(flushed).toHaveBeenCalledTimes(1);
  });

  it('sends nothing when there is nothing to flush, and nothing twice', async () => {
    const { client, signals } = fakeClient();
    const publisher = createSignalPublishing(fail).for(execution, client);
    await publisher.flush();
    expect(signals).toEqual([]);
    publisher.publish(start);
    await publisher.flush();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(signals).toHaveLength(1);
  });

  it('reports a signal that fails, sends the next ones, and never fails its caller', async () => {
    const { client, signals } = fakeClient({ failing: 1 });
    const errors: unknown[] = [];
    const publisher = createSignalPublishing((error) => errors.push(error)).for(execution, client);
    publisher.publish(chunk(0, 'lost'));
    await publisher.flush();
    publisher.publish(chunk(1, 'sent'));
    await publisher.flush();
    expect(errors).toEqual([expect.objectContaining({ message: 'the run is gone' })]);
    expect(signals).toEqual([['live', [chunk(1, 'sent')]]]);
  });

  it('sends 2,000 signals per execution at most, counted over all its activities', async () => {
    const { client, signals } = fakeClient();
    const publishing = createSignalPublishing(fail);
    for (const publisher of [publishing.for(execution, client), publishing.for(execution, client)]) {
      for (let index = 0; index < 1_500; index++) {
        publisher.publish(chunk(index, 'x'));
        await publisher.flush();
      }
    }
    expect(signals).toHaveLength(2_000);
    const next = publishing.for({ ...execution, runId: 'execution_2' }, client);
    next.publish(start);
    await next.flush();
    expect(signals).toHaveLength(2_001);
  });
});

function merged(events: readonly LiveEvent[]): LiveEvent[] {
  const batch: LiveEvent[] = [];
  for (const event of events) mergeInto(batch, event);
  return batch;
}

/** What must be the same for two neighbours to be merged. */
function kindOf(event: LiveEvent): string {
  return 'index' in event ? `${event.type} ${event.block_id} ${event.attempt}` : 'start';
}

function textOf(event: LiveEvent): string {
  return 'index' in event ? event.text : '';
}

function fail(error: unknown): void {
  throw error;
}

/** A client that notes its signals; `held` until they are released, the first `failing` ones fail. */
function fakeClient({ held = false, failing = 0 } = {}) {
  const signals: [string, LiveEvent[]][] = [];
  const targets: [string, string][] = [];
  let release = () => {};
  const gate = held ? new Promise<void>((resolve) => (release = resolve)) : Promise.resolve();
  let failures = failing;
  const handle = {
    async signal(name: string, events: LiveEvent[]) {
      if (failures-- > 0) throw new Error('the run is gone');
      signals.push([name, events]);
      await gate;
    },
  };
  const getHandle = (workflowId: string, runId: string) => {
    targets.push([workflowId, runId]);
    return handle;
  };
  return { client: { workflow: { getHandle } } as unknown as Client, signals, targets, release: () => release() };
}
