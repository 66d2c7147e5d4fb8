import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import type { DurableEvent, EventDraft } from '../../contract/events.js';
import type { LiveEvent } from '../../contract/live-events.js';
import { NO_USAGE } from '../../contract/snapshot.js';
import type { ChannelListener, CommittedEvent } from '../../live/channel.js';
import { createMemoryChannel } from '../../live/memory-channel.js';
import { live, writtenLog } from '../contract/written-log.js';

const RUN = 'run_1';
const block_id = 'step_1.block_1';
const start = live({ type: 'text_start', block_id, attempt: 1 });
const chunk = (index: number, text: string) => live({ type: 'text_chunk', block_id, attempt: 1, index, text });

describe('a listener of the memory channel', () => {
  it('hears live and committed events in the order in which they were published', () => {
    const channel = createMemoryChannel();
    const reader = recorder();
    channel.subscribe(RUN, reader);
    const [opened, closed] = committed(
      { type: 'step_started', step_id: 'step_1', step_number: 1, title: 't' },
      { type: 'text_end', step_id: 'step_1', block_id, attempt: 1, text: 'Hello' },
    );
    channel.publishCommitted(RUN, [opened as CommittedEvent]);
    channel.publishLive(RUN, [start, chunk(0, 'Hel')]);
    channel.publishLive(RUN, [chunk(1, 'lo')]);
    channel.publishCommitted(RUN, [closed as CommittedEvent]);
    expect(reader.heard).toEqual([opened?.event, start, chunk(0, 'Hel'), chunk(1, 'lo'), closed?.event]);
  });

  it('that joins in the middle of an answer gets the text so far, then what comes', () => {
    const channel = createMemoryChannel();
    channel.publishLive(RUN, [start, chunk(0, 'Hel')]);
    channel.publishLive(RUN, [chunk(1, 'lo')]);
    const reader = recorder();
    channel.subscribe(RUN, reader);
    channel.publishLive(RUN, [chunk(2, ' world')]);
    expect(reader.heard).toEqual([start, chunk(1, 'Hello'), chunk(2, ' world')]);
  });

  it('that joins when nothing is open hears nothing', () => {
    const channel = createMemoryChannel();
    channel.publishLive(RUN, [start, chunk(0, 'Hello')]);
    channel.publishCommitted(
      RUN,
      committed({ type: 'text_end', step_id: 'step_1', block_id, attempt: 1, text: 'Hello' }),
    );
    const reader = recorder();
    channel.subscribe(RUN, reader);
    expect(reader.heard).toEqual([]);
  });

  it('hears of a retraction, and one that joins after it never sees the dead attempt', () => {
    const channel = createMemoryChannel();
    const early = recorder();
    channel.subscribe(RUN, early);
    const retraction = live({ type: 'attempt_retracted', attempt: 1 });
    const second = live({ type: 'text_chunk', block_id, attempt: 2, index: 0, text: 'alive' });
    channel.publishLive(RUN, [chunk(0, 'dead')]);
    channel.publishLive(RUN, [retraction]);
    channel.publishLive(RUN, [second, chunk(1, 'still dead')]);
    const late = recorder();
    channel.subscribe(RUN, late);
    expect(early.heard).toEqual([chunk(0, 'dead'), retraction, second]);
    expect(late.heard).toEqual([second]);
  });

  it('is not woken for deltas of a block that is closed', () => {
    const channel = createMemoryChannel();
    channel.publishLive(RUN, [chunk(0, 'Hel')]);
    channel.publishCommitted(
      RUN,
      committed({ type: 'text_end', step_id: 'step_1', block_id, attempt: 1, text: 'Hello' }),
    );
    const reader = recorder();
    const listened = vi.spyOn(reader, 'live');
    channel.subscribe(RUN, reader);
    channel.publishLive(RUN, [chunk(1, 'lo')]);
    expect(listened).not.toHaveBeenCalled();
  });

  it('hears nothing of a run that has ended, and neither does one that joins later', () => {
    const channel = createMemoryChannel();
    const early = recorder();
    channel.subscribe(RUN, early);
    const ending = committed({
      type: 'run_completed',
      status: 'canceled',
      phase: 'canceled',
      cancellation: { reason: 'user_requested' },
      usage: NO_USAGE,
      tree_usage: NO_USAGE,
      duration_ms: 1,
    });
    channel.publishLive(RUN, [chunk(0, 'Hel')]);
    channel.publishCommitted(RUN, ending);
    channel.publishLive(RUN, [chunk(1, 'lo, said by a tool that ignores its abort')]);
    const late = recorder();
    channel.subscribe(RUN, late);
    expect(early.heard).toEqual([chunk(0, 'Hel'), ending[0]?.event]);
    expect(late.heard).toEqual([]);
  });

  it('hears only of its own run', () => {
    const channel = createMemoryChannel();
    const other = recorder();
    channel.subscribe('run_2', other);
    channel.publishLive(RUN, [chunk(0, 'x')]);
    channel.publishCommitted(RUN, committed({ type: 'run_started', input: 'x' }));
    expect(other.heard).toEqual([]);
  });

  it('hears nothing any more once it has left, while others go on', () => {
    const channel = createMemoryChannel();
    const [leaving, staying] = [recorder(), recorder()];
    const leave = channel.subscribe(RUN, leaving);
    channel.subscribe(RUN, staying);
    leave();
    channel.publishLive(RUN, [chunk(0, 'x')]);
    expect(leaving.heard).toEqual([]);
    expect(staying.heard).toEqual([chunk(0, 'x')]);
  });

  it('that leaves twice does not take another one along', () => {
    const channel = createMemoryChannel();
    const leave = channel.subscribe(RUN, recorder());
    leave();
    const staying = recorder();
    channel.subscribe(RUN, staying);
    leave();
    channel.publishLive(RUN, [chunk(0, 'x')]);
    expect(channel.watched(RUN)).toBe(true);
    expect(staying.heard).toEqual([chunk(0, 'x')]);
  });
});

describe('a run is watched', () => {
  it('from the first listener to the last', () => {
    const channel = createMemoryChannel();
    expect(channel.watched(RUN)).toBe(false);
    const [first, second] = [channel.subscribe(RUN, recorder()), channel.subscribe(RUN, recorder())];
    first();
    expect(channel.watched(RUN)).toBe(true);
    second();
    expect(channel.watched(RUN)).toBe(false);
  });
});

/**
 * What a reader holds depends on what happened, not on when it joined: for any story of two steps with several
 * attempts, repeated and late deltas, a reader from the start and one that joins anywhere hold the same open text.
 */
describe('a late listener', () => {
  const delta = fc.record({
    kind: fc.constant('delta' as const),
    n: fc.integer({ min: 1, max: 2 }),
    text: fc.string({ minLength: 1, maxLength: 3 }),
  });
  const happening = fc.oneof(
    { weight: 6, arbitrary: delta },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('repeat' as const), back: fc.nat(5) }) },
    { weight: 1, arbitrary: fc.constant({ kind: 'retry' as const }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('close' as const), n: fc.integer({ min: 1, max: 2 }) }) },
    { weight: 1, arbitrary: fc.constant({ kind: 'step' as const }) },
  );

  it('holds the same open text as one that was there from the start', () => {
    fc.assert(
      fc.property(fc.array(happening, { maxLength: 30 }), fc.nat(30), (story, joinsAt) => {
        const channel = createMemoryChannel();
        const [early, late] = [holder(), holder()];
        channel.subscribe(RUN, early);
        const published: LiveEvent[] = [];
        let [step, attempt, index] = [1, 1, 0];
        const publish = (event: LiveEvent) => {
          published.push(event);
          channel.publishLive(RUN, [event]);
        };
        story.forEach((happens, at) => {
          if (at === joinsAt) channel.subscribe(RUN, late);
          const step_id = `step_${step}`;
          if (happens.kind === 'delta') {
            publish(
              live({
                type: 'text_chunk',
                step_id,
                block_id: `${step_id}.block_${happens.n}`,
                attempt,
                index: index++,
                text: happens.text,
              }),
            );
          } else if (happens.kind === 'repeat') {
            const again = published.at(-1 - happens.back);
            if (again !== undefined) channel.publishLive(RUN, [again]);
          } else if (happens.kind === 'retry') {
            publish(live({ type: 'attempt_retracted', step_id, attempt }));
            attempt += 1;
          } else if (happens.kind === 'close') {
            const closing = {
              type: 'text_end' as const,
              step_id,
              block_id: `${step_id}.block_${happens.n}`,
              attempt,
              text: '',
            };
            channel.publishCommitted(RUN, committed(closing));
          } else {
            channel.publishCommitted(
              RUN,
              committed({ type: 'step_completed', step_id, status: 'completed', duration_ms: 1 }),
            );
            [step, attempt] = [step + 1, 1];
          }
        });
        if (joinsAt >= story.length) channel.subscribe(RUN, late);
        expect(late.texts).toEqual(early.texts);
      }),
      { numRuns: 500 },
    );
  });
});

function committed(...drafts: EventDraft[]): CommittedEvent[] {
  return writtenLog(drafts).map((event) => ({ seq: event.seq, text: JSON.stringify(event), event }));
}

/** Notes what it hears. */
function recorder(): ChannelListener & { heard: (LiveEvent | DurableEvent)[] } {
  const heard: (LiveEvent | DurableEvent)[] = [];
  return {
    heard,
    live: (events) => void heard.push(...events),
    committed: (events) => void heard.push(...events.map(({ event }) => event)),
  };
}

/** Holds the open text as a screen would, and takes every event at its word. */
function holder(): ChannelListener & {
  texts: Map<string, { step: string; attempt: number; block: string; text: string }>;
} {
  const texts: ReturnType<typeof holder>['texts'] = new Map();
  const forget = (isGone: (held: { step: string; attempt: number; block: string }) => boolean) => {
    for (const [key, held] of texts) if (isGone(held)) texts.delete(key);
  };
  return {
    texts,
    live(events) {
      for (const event of events) {
        const step = event.step_id ?? '';
        if (event.type === 'attempt_retracted') forget((held) => held.step === step && held.attempt <= event.attempt);
        if (!('index' in event)) continue;
        const key = `${event.block_id}#${event.attempt}`;
        const text = (texts.get(key)?.text ?? '') + event.text;
        texts.set(key, { step, attempt: event.attempt, block: event.block_id, text });
      }
    },
    committed(events) {
      for (const { event } of events) {
        if (event.type === 'text_end') forget((held) => held.block === event.block_id);
        if (event.type === 'step_completed') forget((held) => held.step === event.step_id);
      }
    },
  };
}
