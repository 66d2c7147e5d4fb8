/** What waits to be sent while Redis does not answer: a link that answers when the test says so. */
import { describe, expect, it } from 'vitest';
import { createRedisPublisher } from '../../live/redis/publisher.js';
import type { RedisLink } from '../../live/redis/link.js';
import { readMessage } from '../../live/redis/messages.js';
import { redisNames } from '../../live/redis/names.js';
import { live, writtenLog } from '../contract/written-log.js';

const MOST = 100_000;
const origin = { execution: 'execution_1' };
const turn = () => new Promise((resolve) => setImmediate(resolve));

interface Told {
  stream: string;
  kept: string;
  told: string;
  answer: (heard: number) => void;
}

function slowLink() {
  const told: Told[] = [];
  const link = {
    isUp: () => true,
    refused() {},
    commands: {
      perdureTell: (stream: string, _channel: string, kept: string, message: string) =>
        new Promise<number>((answer) => told.push({ stream, kept, told: message, answer })),
    },
  } as unknown as RedisLink;
  const publisher = createRedisPublisher(link, redisNames('default'), MOST);
  const read = new Map<string, string>();
  /** A reader takes what is told of a run as far as it has no gap. */
  const answerAll = async (heard = 1) => {
    for (const each of told.splice(0)) {
      for (const { offset = 0, text } of textsOf(each)) {
        const before = read.get(each.stream) ?? '';
        if (offset <= before.length) read.set(each.stream, before + text.slice(before.length - offset));
      }
      each.answer(heard);
    }
    await turn();
  };
  const lengths = new Map<string, number>();
  /** A piece of the only block of a run. */
  const say = (run: string, text: string) => {
    const offset = lengths.get(run) ?? 0;
    lengths.set(run, offset + text.length);
    publisher.live(run, [live({ type: 'text_chunk', block_id: 'b', attempt: 1, index: offset, offset, text })], origin);
  };
  return { told, publisher, answerAll, say, read: (run: string) => read.get(redisNames('default').stream(run)) };
}

function textsOf({ kept }: Told) {
  const message = readMessage(kept);
  if (message?.kind !== 'live') return [];
  return message.events.flatMap((event) => ('index' in event ? [{ offset: event.offset, text: event.text }] : []));
}

describe('while Redis has not answered', () => {
  it('one message is on its way, and what is said meanwhile is one more', async () => {
    const { told, answerAll, say } = slowLink();
    for (const word of ['a', 'b', 'c', 'd']) {
      say('run', word);
      await turn();
    }
    expect(told.map(textsOf)).toEqual([[{ offset: 0, text: 'a' }]]);
    await answerAll();
    expect(told.map(textsOf)).toEqual([[{ offset: 1, text: 'bcd' }]]);
    await answerAll();
    expect(told).toEqual([]);
  });

  it('what waits is bounded: live events go first, and are counted; then all their text is told again', async () => {
    const { told, publisher, answerAll, say, read } = slowLink();
    const runs = Array.from({ length: 50 }, (_, n) => `run_${n}`);
    for (const run of runs) say(run, 'seen ');
    await turn();
    await answerAll();
    say('run_0', 'on its way ');
    await turn();
    const [event] = writtenLog([{ type: 'run_started', input: 'x' }]);
    if (event === undefined) throw new Error('no event');
    publisher.committed('run_1', [{ seq: 0, text: JSON.stringify(event), event }], origin);
    for (const run of runs) for (let n = 0; n < 10; n++) say(run, 'x'.repeat(1_000));
    await turn();
    expect(told).toHaveLength(1);
    await answerAll();
    const sent = told.reduce((sum, each) => sum + each.kept.length, 0);
    expect(sent).toBeLessThan(MOST * 2);
    expect(told.some(({ kept }) => readMessage(kept)?.kind === 'committed')).toBe(true);
    expect(publisher.takeDropped()).toBeGreaterThan(20);
    expect(publisher.takeDropped()).toBe(0);
    await answerAll();
    // Whatever was dropped of a run is in what is told of it next.
    for (const run of runs) say(run, 'end');
    await turn();
    await answerAll();
    const [first, ...others] = runs.map(read);
    expect(first).toBe(`seen on its way ${'x'.repeat(10_000)}end`);
    expect(new Set(others)).toEqual(new Set([`seen ${'x'.repeat(10_000)}end`]));
  });

  it('a reader that joins counts for more than an answer from before it did', async () => {
    const { told, publisher, answerAll, say } = slowLink();
    say('run', 'a');
    await turn();
    publisher.interest(['run']);
    await answerAll(0);
    expect(publisher.watched('run')).toBe(true);
    expect(told.map(textsOf)).toEqual([[{ offset: 0, text: 'a' }]]);
    await answerAll(1);
    say('run', 'b');
    await turn();
    await answerAll(0);
    expect(publisher.watched('run')).toBe(false);
    say('run', 'c');
    await turn();
    expect(told).toEqual([]);
  });
});
