/** What every live channel does: the one inside a process, and the one on Redis, between a speaker and readers. */
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { DurableEvent, EventDraft } from '../../contract/events.js';
import type { LiveEvent } from '../../contract/live-events.js';
import { NO_USAGE } from '../../contract/snapshot.js';
import type { ChannelListener, CommittedEvent } from '../../live/channel.js';
import { live, writtenLog } from '../contract/written-log.js';
import { FETCH_TIMEOUT_MS } from '../support/redis-binary.js';
import { startRedis } from '../support/redis.js';
import type { RedisServer } from '../support/redis.js';
import { openPair } from './channel-pair.js';
import type { ChannelPair } from './channel-pair.js';

const RUN = 'run_1';
const origin = { execution: 'execution_1', task: 3 };
const block_id = 'step_1.block_1';
const start = live({ type: 'text_start', block_id, attempt: 1 });
const chunk = (index: number, offset: number, text: string, attempt = 1) =>
  live({ type: 'text_chunk', block_id, attempt, index, offset, text });

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
}, FETCH_TIMEOUT_MS);
afterAll(() => redis.stop());

describe.each(['memory', 'redis'] as const)('a listener of the %s channel', (kind) => {
  let pair: ChannelPair;
  beforeEach(async () => {
    pair = await openPair(kind === 'redis' ? redis.url : undefined);
  });
  afterEach(() => pair.close());

  const say = async (...events: LiveEvent[]) => {
    pair.speaker.publishLive(RUN, events, origin);
    await pair.settle();
  };
  const commit = async (...events: CommittedEvent[]) => {
    pair.speaker.publishCommitted(RUN, events, origin);
    await pair.settle();
  };
  const listen = async (runId = RUN) => {
    const ear = recorder();
    const leave = pair.reader.subscribe(runId, ear);
    await pair.settle();
    return Object.assign(ear, { leave });
  };

  it('hears live and committed events in the order in which they were published, and from which task they are', async () => {
    const ear = await listen();
    const [opened, closed] = committed(
      { type: 'step_started', step_id: 'step_1', step_number: 1, title: 't' },
      { type: 'text_end', step_id: 'step_1', block_id, attempt: 1, text: 'Hello' },
    ) as [CommittedEvent, CommittedEvent];
    await commit(opened);
    await say(start, chunk(0, 0, 'Hel'));
    await say(chunk(1, 3, 'lo'));
    await commit(closed);
    expect(ear.heard).toEqual([opened.event, start, chunk(0, 0, 'Hel'), chunk(1, 3, 'lo'), closed.event]);
    expect(ear.origins).toEqual([origin, origin]);
    expect(ear.texts).toEqual([opened.text, closed.text]);
  });

  it('that joins in the middle of an answer gets the text so far, then what comes', async () => {
    await say(start, chunk(0, 0, 'Hel'));
    await say(chunk(1, 3, 'lo'));
    const ear = await listen();
    await say(chunk(2, 5, ' world'));
    expect(ear.heard).toEqual([start, chunk(1, 0, 'Hello'), chunk(2, 5, ' world')]);
  });

  it('that joins in the middle, where another one listens, gets the text so far, then what comes', async () => {
    await listen();
    await say(start, chunk(0, 0, 'Hel'));
    await say(chunk(1, 3, 'lo'));
    const late = holder();
    pair.reader.subscribe(RUN, late);
    await pair.settle();
    await say(chunk(2, 5, ' world'));
    expect([...late.texts.values()].map(({ text }) => text)).toEqual(['Hello world']);
  });

  it('that joins when nothing is open hears nothing', async () => {
    await say(start, chunk(0, 0, 'Hello'));
    await commit(...committed({ type: 'text_end', step_id: 'step_1', block_id, attempt: 1, text: 'Hello' }));
    expect((await listen()).heard).toEqual([]);
  });

  it('hears of a retraction, and one that joins after it never sees the dead attempt', async () => {
    const early = await listen();
    const retraction = live({ type: 'attempt_retracted', attempt: 1 });
    const second = chunk(0, 0, 'alive', 2);
    await say(chunk(0, 0, 'dead'));
    await say(retraction);
    await say(second, chunk(1, 4, 'still dead'));
    const late = await listen();
    expect(early.heard.slice(0, 3)).toEqual([chunk(0, 0, 'dead'), retraction, second]);
    expect(late.heard.length).toBeGreaterThan(0);
    expect(JSON.stringify([early.heard.slice(3), late.heard])).not.toContain('dead');
  });

  it('is not woken for deltas of a block that is closed', async () => {
    await say(chunk(0, 0, 'Hel'));
    await commit(...committed({ type: 'text_end', step_id: 'step_1', block_id, attempt: 1, text: 'Hello' }));
    const ear = recorder();
    const listened = vi.spyOn(ear, 'live');
    pair.reader.subscribe(RUN, ear);
    await pair.settle();
    await say(chunk(1, 3, 'lo'));
    expect(listened).not.toHaveBeenCalled();
  });

  it('hears nothing of a run that has ended', async () => {
    const early = await listen();
    const ending = committed({
      type: 'run_completed',
      status: 'canceled',
      phase: 'canceled',
      cancellation: { reason: 'user_requested' },
      usage: NO_USAGE,
      tree_usage: NO_USAGE,
      duration_ms: 1,
    });
    await say(chunk(0, 0, 'Hel'));
    await commit(...ending);
    await say(chunk(1, 3, 'lo, said by a tool that ignores its abort'));
    const late = await listen();
    expect(early.heard).toEqual([chunk(0, 0, 'Hel'), ending[0]?.event]);
    expect(late.heard.filter((event) => event.type !== 'run_completed')).toEqual([]);
  });

  it('hears only of its own run', async () => {
    const other = await listen('run_2');
    await listen();
    await say(chunk(0, 0, 'x'));
    await commit(...committed({ type: 'run_started', input: 'x' }));
    expect(other.heard).toEqual([]);
  });

  it('hears nothing any more once it has left, while others go on', async () => {
    const [leaving, staying] = [await listen(), await listen()];
    leaving.leave();
    await say(chunk(0, 0, 'x'));
    expect(leaving.heard).toEqual([]);
    expect(staying.heard).toEqual([chunk(0, 0, 'x')]);
  });

  it('that leaves twice does not take another one along', async () => {
    const first = await listen();
    first.leave();
    const staying = await listen();
    first.leave();
    await say(chunk(0, 0, 'x'));
    expect(pair.speaker.watched(RUN)).toBe(true);
    expect(staying.heard).toEqual([chunk(0, 0, 'x')]);
  });

  it('makes the run watched, from the first one to the last', async () => {
    const isWatched = async () => {
      pair.speaker.watched(RUN);
      await say(chunk(0, 0, 'x'));
      return pair.speaker.watched(RUN);
    };
    expect(await isWatched()).toBe(false);
    const [first, second] = [await listen(), await listen()];
    first.leave();
    await pair.settle();
    pair.speaker.publishLive(RUN, [live({ type: 'tool_progress', message: 'on' })], origin);
    await pair.settle();
    expect(pair.speaker.watched(RUN)).toBe(true);
    second.leave();
    await pair.settle();
    pair.speaker.publishLive(RUN, [live({ type: 'tool_progress', message: 'off' })], origin);
    await pair.settle();
    expect(pair.speaker.watched(RUN)).toBe(false);
  });

  it('hears of cancels, until it leaves', async () => {
    const heard: string[] = [];
    const leave = pair.speaker.onCancel((id) => heard.push(id));
    await pair.settle();
    pair.reader.publishCancel('run_7');
    await pair.settle();
    leave();
    pair.reader.publishCancel('run_8');
    await pair.settle();
    expect(heard).toEqual(['run_7']);
  });

  /**
   * What a reader holds depends on what happened, not on when it joined: for any story of two steps with several
   * attempts, repeated and late deltas, a reader from the start and one that joins anywhere hold the same open text.
   */
  it(
    'that joins late holds the same open text as one that was there from the start',
    { timeout: 120_000 },
    async () => {
      let stories = 0;
      await fc.assert(
        fc.asyncProperty(fc.array(happening, { maxLength: 30 }), fc.nat(30), async (story, joinsAt) => {
          const runId = `story_${stories++}`;
          const [early, late] = [holder(), holder()];
          pair.reader.subscribe(runId, early);
          const published: LiveEvent[] = [];
          const lengths = new Map<string, number>();
          let [step, attempt, index] = [1, 1, 0];
          const publish = (event: LiveEvent) => {
            published.push(event);
            pair.speaker.publishLive(runId, [event], origin);
          };
          const join = async () => {
            pair.reader.subscribe(runId, late);
            await pair.settle();
          };
          for (const [at, happens] of story.entries()) {
            if (at === joinsAt) await join();
            const step_id = `step_${step}`;
            if (happens.kind === 'delta') {
              const block = `${step_id}.block_${happens.n}`;
              const offset = lengths.get(`${block}#${attempt}`) ?? 0;
              lengths.set(`${block}#${attempt}`, offset + happens.text.length);
              const { text } = happens;
              publish(live({ type: 'text_chunk', step_id, block_id: block, attempt, index: index++, offset, text }));
            } else if (happens.kind === 'repeat') {
              const again = published.at(-1 - happens.back);
              if (again !== undefined) pair.speaker.publishLive(runId, [again], origin);
            } else if (happens.kind === 'retry') {
              publish(live({ type: 'attempt_retracted', step_id, attempt }));
              attempt += 1;
            } else if (happens.kind === 'close') {
              const block = `${step_id}.block_${happens.n}`;
              const closing = { type: 'text_end' as const, step_id, block_id: block, attempt, text: '' };
              pair.speaker.publishCommitted(runId, committed(closing), origin);
            } else {
              const over = { type: 'step_completed' as const, step_id, status: 'completed' as const, duration_ms: 1 };
              pair.speaker.publishCommitted(runId, committed(over), origin);
              [step, attempt] = [step + 1, 1];
            }
          }
          if (joinsAt >= story.length) await join();
          await pair.settle();
          expect(texts(late)).toEqual(texts(early));
        }),
        { numRuns: kind === 'memory' ? 500 : 60 },
      );
    },
  );
});

const happening = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('delta' as const),
      n: fc.integer({ min: 1, max: 2 }),
      text: fc.string({ minLength: 1, maxLength: 3 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('repeat' as const), back: fc.nat(5) }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'retry' as const }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('close' as const), n: fc.integer({ min: 1, max: 2 }) }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'step' as const }) },
);

function committed(...drafts: EventDraft[]): CommittedEvent[] {
  return writtenLog(drafts).map((event) => ({ seq: event.seq, text: JSON.stringify(event), event }));
}

/** Notes what it hears. */
function recorder() {
  const heard: (LiveEvent | DurableEvent)[] = [];
  const origins: unknown[] = [];
  const written: string[] = [];
  return {
    heard,
    origins,
    texts: written,
    live: (events: readonly LiveEvent[]) => void heard.push(...events),
    committed(events: readonly CommittedEvent[], from?: unknown) {
      heard.push(...events.map(({ event }) => event));
      written.push(...events.map(({ text }) => text));
      origins.push(from);
    },
  } satisfies ChannelListener & Record<string, unknown>;
}

type Held = { step: string; attempt: number; block: string; text: string };

/**
 * Holds the open text as a screen would; of a chunk it takes what is behind what it has. One that begins later is left
 * out, as every reader does: while somebody joins, the channel may bring the second piece of a text before the first.
 */
function holder(): ChannelListener & { texts: Map<string, Held> } {
  const held = new Map<string, Held>();
  const forget = (isGone: (each: Held) => boolean) => {
    for (const [key, each] of held) if (isGone(each)) held.delete(key);
  };
  return {
    texts: held,
    live(events) {
      for (const event of events) {
        const step = event.step_id ?? '';
        if (event.type === 'attempt_retracted') forget((each) => each.step === step && each.attempt <= event.attempt);
        if (!('index' in event)) continue;
        const key = `${event.block_id}#${event.attempt}`;
        const text = held.get(key)?.text ?? '';
        const { offset = 0 } = event;
        if (offset > text.length) continue;
        const more = event.text.slice(text.length - offset);
        held.set(key, { step, attempt: event.attempt, block: event.block_id, text: text + more });
      }
    },
    committed(events) {
      for (const { event } of events) {
        if (event.type === 'text_end') forget((each) => each.block === event.block_id);
        if (event.type === 'step_completed') forget((each) => each.step === event.step_id);
      }
    },
  };
}

function texts({ texts: held }: { texts: Map<string, Held> }): [string, Held][] {
  return [...held].sort(([one], [other]) => (one < other ? -1 : 1));
}
