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
/** Live events that cannot be merged. */
const scattered = (count: number, from = 0) =>
  Array.from({ length: count }, (_item, i) => live({ type: 'tool_progress', message: `${from + i}` }));
const end = (text: string, block = 'b'): EventDraft => ({
  type: 'text_end',
  step_id: 'step_1',
  block_id: block,
  attempt: 1,
  text,
});

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

  it('loses live text that is too much to be held, and gets all that it lost before the closing event', async () => {
    const text = 'x'.repeat(10_000).repeat(250);
    const { subscription, log } = open([started, note('a'), end(text)]);
    subscription.durable(0);
    for (let index = 0; index < 250; index++) {
      subscription.live([piece(index, index * 10_000, text.slice(0, 10_000))]);
      if (index === 120) subscription.durable(1);
    }
    const held = await subscription.next();
    expect(held.value).toMatchObject({ type: 'live_dropped' });
    subscription.durable(2);
    subscription.end();
    const seen = await collect(subscription);
    expect(seen.map(textOf).join('')).toBe(text);
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
        const shown = seen.filter((event) => 'live_id' in event).length;
        const dropped = seen.reduce((sum, event) => sum + (event.type === 'live_dropped' ? event.dropped : 0), 0);
        expect(shown + dropped).toBe(pushed);
      }),
      { numRuns: 60 },
    );
  });
});

describe('the text of a block', () => {
  const whole = 'Hello, world!';

  it('comes whole as one chunk before its closing event, where nothing of it was told', async () => {
    const { subscription, log } = open([started, end(whole)]);
    subscription.durable(0);
    subscription.durable(1);
    subscription.end();
    const rest = { ...piece(0, 0, whole), live_id: 'b#1.rest' };
    expect(await collect(subscription)).toEqual([log[0], rest, log[1]]);
  });

  it('is completed before its closing event, and not told again', async () => {
    const { subscription, log } = open([started, end(whole)]);
    subscription.durable(0);
    subscription.live([piece(0, 0, 'Hello'), piece(1, 5, ', ')]);
    subscription.durable(1);
    subscription.end();
    const rest = { ...piece(2, 7, 'world!'), live_id: 'b#1.rest' };
    expect(await collect(subscription)).toEqual([log[0], piece(0, 0, 'Hello'), piece(1, 5, ', '), rest, log[1]]);
  });

  it('of reasoning and of a summary is completed as well', async () => {
    const { subscription } = open([
      { type: 'thinking_end', step_id: 'step_1', block_id: 't', attempt: 1, text: 'hm' },
      { type: 'summary_final', step_id: 'step_1', block_id: 's', attempt: 1, text: 'so' },
    ]);
    subscription.durable(0);
    subscription.durable(1);
    subscription.end();
    const seen = await collect(subscription);
    expect(seen.map((event) => event.type)).toEqual([
      'thinking_chunk',
      'thinking_end',
      'summary_chunk',
      'summary_final',
    ]);
    expect(seen.map(textOf).join(' ')).toBe('hm  so ');
  });

  it('has no chunk with a hole before it, and none that was told already', async () => {
    const { subscription } = open([end(whole)]);
    subscription.live([piece(0, 0, 'Hel'), piece(2, 5, ', wor'), piece(1, 1, 'ello')]);
    subscription.durable(0);
    subscription.end();
    expect((await collect(subscription)).map(textOf).filter((text) => text !== '')).toEqual(['Hel', 'lo', ', world!']);
  });

  it('has no chunk after its closing event, and none after its retraction', async () => {
    const { subscription } = open([end('done'), { type: 'attempt_retracted', step_id: 'step_1', attempt: 1 }]);
    subscription.durable(0);
    subscription.live([piece(4, 4, ' late')]);
    subscription.live([piece(0, 0, 'dead', 'c')]);
    subscription.durable(1);
    subscription.live([piece(1, 4, ' late', 'c')]);
    subscription.end();
    expect((await collect(subscription)).map(textOf).filter((text) => text !== '')).toEqual(['done', 'dead']);
  });

  it('is the chunks of its winning attempt, whatever is lost, merged, doubled or late', async () => {
    const step = fc.oneof(
      fc.record({ what: fc.constant('piece' as const), block: fc.nat(2), size: fc.integer({ min: 1, max: 20 }) }),
      fc.record({ what: fc.constant('lost' as const), block: fc.nat(2), size: fc.integer({ min: 1, max: 20 }) }),
      fc.record({ what: fc.constant('again' as const), block: fc.nat(2), size: fc.integer({ min: 1, max: 20 }) }),
      fc.record({ what: fc.constant('close' as const), block: fc.nat(2), size: fc.constant(0) }),
      fc.record({ what: fc.constant('noise' as const), block: fc.constant(0), size: fc.integer({ min: 1, max: 600 }) }),
      fc.record({ what: fc.constant('read' as const), block: fc.constant(0), size: fc.integer({ min: 1, max: 9 }) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const texts = ['', '', ''];
        const closed = new Set<number>();
        const drafts: EventDraft[] = [];
        const { subscription, log } = open([]);
        const seen: StreamEvent[] = [];
        let index = 0;
        for (const { what, block, size } of steps) {
          const at = texts[block]?.length ?? 0;
          const words = 'abcdefghijklmnopqrstuvwxyz'.slice(at % 5, (at % 5) + size);
          if (what === 'read') {
            for (let n = 0; n < size && seen.length < drafts.length; n++) {
              const { value } = (await subscription.next()) as { value: StreamEvent };
              seen.push(value);
            }
          } else if (what === 'noise') subscription.live(scattered(size));
          else if (what === 'again')
            subscription.live([piece(index, 0, texts[block]?.slice(0, size) ?? '', `b${block}`)]);
          else if (closed.has(block)) subscription.live([piece(index++, at, words, `b${block}`)]);
          else if (what === 'close') {
            closed.add(block);
            drafts.push(end(texts[block] ?? '', `b${block}`));
            log.splice(0, log.length, ...writtenLog(drafts));
            subscription.durable(drafts.length - 1);
          } else {
            texts[block] = `${texts[block]}${words}`;
            if (what === 'piece') subscription.live([piece(index++, at, words, `b${block}`)]);
          }
        }
        subscription.end();
        seen.push(...(await collect(subscription)));
        for (const block of closed) {
          const ofBlock = seen.filter((event) => 'block_id' in event && event.block_id === `b${block}`);
          expect(ofBlock.map((event) => ('seq' in event ? '' : textOf(event))).join('')).toBe(texts[block]);
          expect(ofBlock.at(-1)?.type).toBe('text_end');
        }
      }),
      { numRuns: 300 },
    );
  });
});

function piece(index: number, offset: number, text: string, block = 'b'): LiveEvent {
  return live({ type: 'text_chunk', block_id: block, attempt: 1, index, offset, text });
}

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
