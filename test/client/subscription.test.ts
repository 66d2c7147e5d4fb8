import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { createSubscription } from '../../client/subscription.js';
import type { Subscription } from '../../client/subscription.js';
import type { DurableEvent, EventDraft } from '../../contract/events.js';
import type { LiveEvent, StreamEvent, StreamMarker } from '../../contract/live-events.js';
import { NO_USAGE } from '../../contract/snapshot.js';
import { live, writtenLog } from '../contract/written-log.js';

const MAX_LIVE = 1_000;
const started: EventDraft = { type: 'run_started', input: 'hello' };
const note = (text: string): EventDraft => ({ type: 'notice_posted', text });
const ended: EventDraft = {
  type: 'run_completed',
  status: 'success',
  phase: 'completed',
  answer: 'x',
  usage: NO_USAGE,
  tree_usage: NO_USAGE,
  duration_ms: 1,
};
const chunk = (index: number, text = `${index} `, block = 'b') =>
  live({ type: 'text_chunk', block_id: block, attempt: 1, index, text });
/** Live events that cannot be merged: neighbours are of different blocks. */
const scattered = (count: number, from = 0) =>
  Array.from({ length: count }, (_item, i) => chunk(from + i, `${i} `, `b${(from + i) % 2}`));

describe('a subscription', () => {
  it('delivers durable events, live events and markers in the order in which they were pushed', async () => {
    const { subscription, log } = open([started, note('a')]);
    const dropped: StreamMarker = { type: 'live_dropped', run_id: 'run_1', dropped: 3 };
    subscription.durable(0);
    subscription.live([chunk(0), chunk(1)]);
    subscription.marker(dropped);
    subscription.durable(1);
    subscription.live([chunk(2)]);
    subscription.end();
    expect(await collect(subscription)).toEqual([log[0], chunk(0), chunk(1), dropped, log[1], chunk(2)]);
  });

  it('waits for what is not there yet, and delivers it at once', async () => {
    const { subscription, log } = open([started]);
    const next = subscription.next();
    subscription.durable(0);
    expect(await next).toEqual({ done: false, value: log[0] });
  });

  it('answers several waiting calls in their order', async () => {
    const { subscription, log } = open([started, note('a')]);
    const calls = Promise.all([subscription.next(), subscription.next(), subscription.next()]);
    subscription.durable(0);
    await setImmediate();
    subscription.durable(1);
    await setImmediate();
    subscription.end();
    expect((await calls).map(({ done, value }) => (done ? 'done' : value))).toEqual([log[0], log[1], 'done']);
  });

  it.each<[string, (subscription: Subscription) => void, string]>([
    ['run_completed', (subscription) => subscription.durable(1), 'run_completed'],
    [
      'the marker that the engine ended the run',
      (subscription) =>
        subscription.marker({ type: 'stream_ended', run_id: 'run_1', reason: 'terminated', message: 'm' }),
      'stream_ended',
    ],
  ])('is over with %s, whatever was pushed behind it', async (_what, finish, type) => {
    const { subscription, onClose } = open([started, ended]);
    subscription.durable(0);
    finish(subscription);
    subscription.live([chunk(0)]);
    expect((await collect(subscription)).map((event) => event.type)).toEqual(['run_started', type]);
    expect(onClose).toHaveBeenCalled();
  });
});

describe('end()', () => {
  it('lets the reader have what is queued, then the end', async () => {
    const { subscription, log, onClose } = open([started]);
    subscription.durable(0);
    subscription.live([chunk(0)]);
    subscription.end();
    expect(onClose).not.toHaveBeenCalled();
    expect(await collect(subscription)).toEqual([log[0], chunk(0)]);
    expect(await subscription.next()).toEqual({ done: true, value: undefined });
    expect(onClose).toHaveBeenCalled();
  });

  it('wakes a reader that waits', async () => {
    const { subscription } = open([]);
    const next = subscription.next();
    subscription.end();
    expect(await next).toEqual({ done: true, value: undefined });
  });
});

describe('return()', () => {
  it('ends the stream at once, and tells the feed', async () => {
    const { subscription, onClose } = open([started]);
    subscription.durable(0);
    expect(await subscription.return?.()).toEqual({ done: true, value: undefined });
    expect(onClose).toHaveBeenCalledTimes(1);
    expect(await subscription.next()).toEqual({ done: true, value: undefined });
  });

  it('is called when a loop is left', async () => {
    const { subscription, onClose } = open([started, note('a')]);
    subscription.durable(0);
    subscription.durable(1);
    for await (const event of subscription) {
      expect(event.type).toBe('run_started');
      break;
    }
    expect(onClose).toHaveBeenCalledTimes(1);
  });

  it('wakes a reader that waits', async () => {
    const { subscription } = open([]);
    const next = subscription.next();
    await subscription.return?.();
    expect(await next).toEqual({ done: true, value: undefined });
  });

  it('leaves nothing to deliver: no event that comes later, no marker of what was dropped', async () => {
    const { subscription } = open([started]);
    subscription.live(scattered(MAX_LIVE + 1));
    await subscription.return?.();
    subscription.durable(0);
    subscription.live([chunk(0)]);
    expect(await subscription.next()).toEqual({ done: true, value: undefined });
  });
});

describe('a reader that is too slow', () => {
  it('gets every delta as it was while it is only a little behind', async () => {
    const { subscription } = open([]);
    const deltas = Array.from({ length: 100 }, (_item, i) => chunk(i));
    subscription.live(deltas);
    subscription.end();
    expect(await collect(subscription)).toEqual(deltas);
  });

  it('gets deltas of a block merged when it is further behind, without losing text', async () => {
    const { subscription } = open([]);
    const deltas = Array.from({ length: 5_000 }, (_item, i) => chunk(i));
    for (const delta of deltas) subscription.live([delta]);
    subscription.end();
    const seen = await collect(subscription);
    expect(seen.length).toBeLessThan(110);
    expect(seen.map(textOf).join('')).toBe(deltas.map(textOf).join(''));
    expect(seen.at(-1)).toMatchObject({ index: 4_999 });
  });

  it('loses live events that cannot be merged, is told how many first, and goes on with what comes', async () => {
    const { subscription } = open([]);
    subscription.live(scattered(MAX_LIVE + 1));
    subscription.live([chunk(0, 'after')]);
    subscription.end();
    expect(await collect(subscription)).toEqual([
      { type: 'live_dropped', run_id: 'run_1', dropped: MAX_LIVE + 1 },
      chunk(0, 'after'),
    ]);
  });

  it('loses the oldest live events first', async () => {
    const { subscription, log } = open([started, note('a')]);
    subscription.live(scattered(10));
    subscription.durable(0);
    const kept = scattered(MAX_LIVE - 5);
    subscription.live(kept);
    subscription.durable(1);
    subscription.end();
    const [marker, ...seen] = await collect(subscription);
    expect(marker).toEqual({ type: 'live_dropped', run_id: 'run_1', dropped: 10 });
    expect(seen).toEqual([log[0], ...kept, log[1]]);
  });

  it('loses live text that is too much to be held, though it could be merged, and no durable event', async () => {
    const { subscription, log } = open([started, note('a'), note('b')]);
    const piece = 'x'.repeat(10_000);
    subscription.durable(0);
    for (let index = 0; index < 250; index++) {
      subscription.live([chunk(index, piece)]);
      if (index === 120) subscription.durable(1);
    }
    subscription.durable(2);
    subscription.end();
    const seen = await collect(subscription);
    const held = seen.map(textOf).join('').length;
    expect(held).toBeGreaterThan(0);
    expect(held).toBeLessThanOrEqual(1_000_000);
    expect(seen[0]).toMatchObject({ type: 'live_dropped' });
    expect(seen.filter((event) => 'seq' in event)).toEqual(log);
  });

  it('that is very far behind still gets every durable event once and in order, around what was dropped', async () => {
    const count = 200_000;
    const numbers: number[] = [];
    const subscription = createSubscription({
      runId: 'run_1',
      eventAt: (seq) => ({ type: 'notice_posted', seq }) as DurableEvent,
      onClose: () => {},
    });
    for (let seq = 0; seq < count; seq++) {
      subscription.durable(seq);
      if (seq % 100 === 0) subscription.live([chunk(seq, 'y', `b${seq}`)]);
    }
    subscription.end();
    for await (const event of subscription) if ('seq' in event) numbers.push(event.seq);
    expect(numbers).toEqual(Array.from({ length: count }, (_item, i) => i));
  });

  it('has room again once it has caught up', async () => {
    const { subscription } = open([]);
    for (let round = 0; round < 3; round++) {
      const events = scattered(MAX_LIVE);
      subscription.live(events);
      for (const event of events) expect(await subscription.next()).toEqual({ done: false, value: event });
    }
  });

  it('gets every durable event, in order, whatever is pushed and however it reads', async () => {
    const push = fc.oneof(
      { weight: 3, arbitrary: fc.constant('durable' as const) },
      { weight: 2, arbitrary: fc.constant('read' as const) },
      { weight: 2, arbitrary: fc.integer({ min: 1, max: 700 }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(push, { maxLength: 25 }), async (pushes) => {
        const { subscription, log } = open(pushes.map((_push, i) => note(String(i))));
        const seen: StreamEvent[] = [];
        let [seq, pushed, waiting] = [0, 0, 0];
        for (const each of pushes) {
          if (each === 'durable') subscription.durable(seq++);
          else if (each === 'read') waiting += 1;
          else {
            subscription.live(scattered(each, pushed));
            pushed += each;
          }
          // A reader reads only what is surely there.
          if (waiting > 0 && each === 'durable') {
            const { value } = (await subscription.next()) as { value: StreamEvent };
            seen.push(value);
            waiting -= 1;
          }
        }
        subscription.end();
        seen.push(...(await collect(subscription)));
        expect(seen.filter((event) => 'seq' in event)).toEqual(log.slice(0, seq));
        const shown = seen.filter((event) => 'live_id' in event && 'index' in event).length;
        const dropped = seen.reduce((sum, event) => sum + (event.type === 'live_dropped' ? event.dropped : 0), 0);
        expect(shown + dropped).toBe(pushed);
      }),
      { numRuns: 60 },
    );
  });
});

function open(drafts: EventDraft[]) {
  const log: DurableEvent[] = writtenLog(drafts);
  const onClose = vi.fn<() => void>();
  const subscription = createSubscription({ runId: 'run_1', eventAt: (seq) => log[seq] as DurableEvent, onClose });
  return { subscription, log, onClose };
}

async function collect(subscription: Subscription): Promise<StreamEvent[]> {
  const events: StreamEvent[] = [];
  for await (const event of subscription) events.push(event);
  return events;
}

function textOf(event: StreamEvent): string {
  return 'index' in event ? (event as Extract<LiveEvent, { index: number }>).text : '';
}
