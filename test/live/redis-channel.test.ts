/** The live channel on a real Redis: what it costs, what it holds, and what it does when Redis does not do its part. */
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { LiveEvent } from '../../contract/live-events.js';
import type { ChannelListener, LiveChannel } from '../../live/channel.js';
import { createRedisChannel } from '../../live/redis-channel.js';
import type { RedisChannelOptions } from '../../live/redis-channel.js';
import { live, writtenLog } from '../contract/written-log.js';
import { startCluster } from '../support/redis-cluster.js';
import { FETCH_TIMEOUT_MS } from '../support/redis-binary.js';
import { startRedis } from '../support/redis.js';
import type { RedisServer } from '../support/redis.js';
import { until } from '../support/world.js';

const origin = { execution: 'execution_1' };
const open: LiveChannel[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((channel) => channel.close()));
});

async function connect(options: RedisChannelOptions): Promise<LiveChannel> {
  const channel = createRedisChannel(options);
  open.push(channel);
  await until(() => channel.isUp(), 'the connections to Redis');
  return channel;
}

/** Says words of one block, each of them as a chunk of its own. */
function talker(channel: LiveChannel, run = 'run_1') {
  const block_id = 'step_1.block_1';
  let [index, offset] = [0, 0];
  return (text: string) => {
    channel.publishLive(run, [live({ type: 'text_chunk', block_id, attempt: 1, index, offset, text })], origin);
    [index, offset] = [index + 1, offset + text.length];
  };
}

/** What a reader has of the block, without gaps, and in how many pieces it came. */
function listener(): ChannelListener & { text(): string; pieces(): number; aways(): number } {
  let [text, pieces, aways] = ['', 0, 0];
  return {
    text: () => text,
    pieces: () => pieces,
    aways: () => aways,
    live(events: readonly LiveEvent[]) {
      for (const event of events) {
        if (!('index' in event) || event.offset === undefined || event.offset > text.length) continue;
        pieces += 1;
        text += event.text.slice(text.length - event.offset);
      }
    },
    committed() {},
    away: () => (aways += 1),
  };
}

const words = (count: number) => Array.from({ length: count }, (_, n) => `word${n} `);

describe('the channel on Redis', () => {
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await startRedis();
  }, FETCH_TIMEOUT_MS);
  afterAll(() => redis.stop());

  /** By our scripts and subscriptions, since the last time: signs that a connection is there do not count. */
  async function commands(): Promise<Record<string, number>> {
    const stats = await redis.admin.info('commandstats');
    await redis.admin.config('RESETSTAT');
    const rows = [...stats.matchAll(/^cmdstat_([\w|]+):calls=(\d+)/gm)].map(([, name = '', calls]) => [
      name,
      Number(calls),
    ]);
    const own = ['eval', 'evalsha', 'spublish', 'xadd', 'xrange', 'ssubscribe', 'sunsubscribe', 'hset', 'hdel'];
    return Object.fromEntries(rows.filter(([name]) => own.includes(name as string)));
  }

  it('says nothing of a run that nobody listens to, once it knows', async () => {
    const speaker = await connect({ url: redis.url });
    await redis.admin.flushall();
    await commands();
    const say = talker(speaker, 'unheard');
    for (const word of words(200)) {
      say(word);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await until(() => !speaker.watched('unheard'), 'the answer that nobody listens');
    const used = await commands();
    console.log('commands of a run of 200 words without a reader:', JSON.stringify(used));
    expect(used['xadd'] ?? 0).toBe(0);
    expect((used['eval'] ?? 0) + (used['evalsha'] ?? 0)).toBeLessThan(10);
    expect(await redis.admin.keys('*')).toEqual([]);
  });

  it('tells a reader every word while it is said, and many that are said at once in few messages', async () => {
    const [speaker, reader] = [await connect({ url: redis.url }), await connect({ url: redis.url })];
    const ear = listener();
    reader.subscribe('run_1', ear);
    const say = talker(speaker);
    await until(() => {
      say('. ');
      return ear.pieces() > 0;
    }, 'the first word');
    await commands();
    const before = ear.pieces();
    for (const word of words(100)) {
      say(word);
      const wanted = ear.text().length;
      await until(() => ear.text().length > wanted, 'the word');
    }
    expect(ear.pieces() - before).toBe(100);
    console.log('commands of 100 words, one after another, with a reader:', JSON.stringify(await commands()));
    const burst = words(5_000).join('');
    for (const word of words(5_000)) say(word);
    await until(() => ear.text().endsWith(burst), 'the burst');
    const used = await commands();
    console.log('commands of 5,000 words at once, with a reader:', JSON.stringify(used));
    expect(used['xadd']).toBeLessThan(50);
  });

  it('gives one who joins after thousands of words all of them, though the stream of the run stays short', async () => {
    const [speaker, reader] = [await connect({ url: redis.url }), await connect({ url: redis.url })];
    const first = listener();
    reader.subscribe('long', first);
    const say = talker(speaker, 'long');
    await until(() => {
      say('. ');
      return first.pieces() > 0;
    }, 'the first word');
    for (const word of words(2_000)) {
      say(word);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    const all = words(2_000).join('');
    await until(() => first.text().endsWith(all), 'all words');
    expect(first.pieces()).toBeGreaterThan(1_300);
    const length = await redis.admin.xlen('perdure:default:{long}:events');
    const bytes = (await redis.admin.call('MEMORY', 'USAGE', 'perdure:default:{long}:events')) as number;
    console.log(`the stream of an answer of ${all.length} characters: ${length} entries, ${bytes} bytes`);
    expect(length).toBeLessThan(1_300);
    expect(await redis.admin.pttl('perdure:default:{long}:events')).toBeGreaterThan(0);
    // Without the speaker: what it gets is in Redis.
    await speaker.close();
    const late = listener();
    (await connect({ url: redis.url })).subscribe('long', late);
    await until(() => late.text() === first.text(), 'the text so far');
    expect(late.pieces()).toBe(1);
  });

  it('tells a large event and does not keep it: who joins later is told less, and not that it is all', async () => {
    const [speaker, reader] = [await connect({ url: redis.url }), await connect({ url: redis.url })];
    const events = writtenLog([
      { type: 'run_started', input: 'small' },
      { type: 'run_started', input: 'x'.repeat(100_000) },
    ]).map((event) => ({ seq: event.seq, text: JSON.stringify(event), event }));
    const note = () => {
      const heard: unknown[] = [];
      return {
        heard,
        live() {},
        committed: (all: readonly { seq: number }[], from: unknown) =>
          void heard.push(
            all.map(({ seq }) => seq),
            from,
          ),
      };
    };
    const [early, late] = [note(), note()];
    reader.subscribe('large', early);
    await until(() => speaker.watched('large'), 'the reader');
    await until(() => {
      speaker.publishCommitted('large', events, { ...origin, task: 4 });
      return early.heard.length > 0;
    }, 'the events');
    expect(early.heard.slice(0, 2)).toEqual([[0, 1], { ...origin, task: 4 }]);
    // What was sent while nobody listened yet may still be on its way.
    await new Promise((resolve) => setTimeout(resolve, 500));
    reader.subscribe('large', late);
    await until(() => late.heard.length > 0, 'what is kept');
    expect(late.heard[0]).not.toContain(1);
    expect(late.heard[1]).toEqual(origin);
  });

  it('keeps what a reader that is about to come would miss', async () => {
    const [speaker, reader] = [await connect({ url: redis.url }), await connect({ url: redis.url })];
    const [event] = writtenLog([{ type: 'run_started', input: 'hello' }]);
    if (event === undefined) throw new Error('no event');
    speaker.watched('other');
    reader.expect('soon');
    const listening = async () => Number((await redis.admin.pubsub('SHARDNUMSUB', 'perdure:default:{soon}:live'))[1]);
    await until(async () => (await listening()) > 0, 'the place to be kept');
    speaker.publishCommitted('soon', [{ seq: 0, text: JSON.stringify(event), event }], origin);
    await until(async () => (await redis.admin.xlen('perdure:default:{soon}:events')) > 0, 'the event to be kept');
    const heard: unknown[] = [];
    reader.subscribe('soon', { live() {}, committed: (events) => void heard.push(...events.map(({ seq }) => seq)) });
    await until(() => heard.length > 0, 'what was said before');
    expect(heard).toEqual([0]);
  });

  it('holds two connections, however many runs are listened to', async () => {
    const count = async () =>
      String(await redis.admin.client('LIST'))
        .split('\n')
        .filter((line) => line.includes('name=perdure ')).length;
    await until(async () => (await count()) === 0, 'the connections of other tests to be closed');
    const reader = await connect({ url: redis.url });
    const leave = Array.from({ length: 1_000 }, (_, n) => reader.subscribe(`run_${n}`, listener()));
    await until(async () => (await redis.admin.pubsub('SHARDCHANNELS')).length === 1_000, 'the subscriptions');
    expect(await count()).toBe(2);
    for (const each of leave) each();
    await until(async () => (await redis.admin.pubsub('SHARDCHANNELS')).length === 0, 'their end');
  });
});

describe('when Redis does not do its part, the channel', { timeout: 120_000 }, () => {
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await startRedis();
  }, FETCH_TIMEOUT_MS);
  afterAll(() => redis.stop());

  /** A speaker and a reader of one run, in the middle of a block. */
  async function talking() {
    const lines: string[] = [];
    const report = (line: string) => void lines.push(line);
    const [speaker, reader] = [await connect({ url: redis.url, report }), await connect({ url: redis.url })];
    const ear = listener();
    const run = randomUUID();
    reader.subscribe(run, ear);
    const say = talker(speaker, run);
    let said = '';
    const tell = (text: string) => {
      say(text);
      said += text;
    };
    await until(() => {
      tell('. ');
      return ear.pieces() > 0;
    }, 'the first word');
    await until(() => ear.text() === said, 'all that was said');
    return { run, speaker, reader, ear, tell, said: () => said, lines };
  }

  it('loses no word for good when it is emptied', async () => {
    const { ear, tell, said } = await talking();
    await redis.admin.flushall();
    tell('after');
    await until(() => ear.text() === said(), 'what was said after that');
  });

  it('goes on by itself when it is killed and comes back empty, and says so once each', async () => {
    const { run, speaker, reader, ear, tell, said, lines } = await talking();
    await redis.kill();
    await until(() => !speaker.isUp() && !reader.isUp(), 'the news that it is gone');
    expect(speaker.watched(run)).toBe(false);
    for (const word of words(100)) tell(word);
    await until(() => lines.length > 0, 'the report');
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    await redis.start();
    await until(() => speaker.isUp() && reader.isUp(), 'the connections to be back');
    tell('back');
    await until(() => ear.text() === said(), 'all that was said meanwhile');
    await until(() => lines.length > 1, 'the second report');
    expect(lines).toEqual([
      expect.stringMatching(/^live channel: Redis at 127\.0\.0\.1:\d+ is away \(.+\)\. Readers poll/),
      expect.stringMatching(
        /^live channel: Redis at 127\.0\.0\.1:\d+ is back after \d+(\.\d)? s; 100 events were not sent/,
      ),
    ]);
    expect(ear.aways()).toBe(1);
  });

  it('holds up nobody when it says nothing, and does not say again what is too much', async () => {
    const { speaker, ear, tell, said } = await talking();
    redis.pause();
    const longest = await longestPause(async () => {
      // Some 40 MB as events, of one block.
      for (const word of words(100_000)) {
        tell(word);
        if (word.endsWith('00 ')) await new Promise((resolve) => setImmediate(resolve));
      }
    });
    await until(() => !speaker.isUp(), 'the news that it says nothing');
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    redis.resume();
    await until(() => speaker.isUp(), 'the connections to be back');
    tell('end');
    console.log(`100,000 words into a Redis that is paused: nothing else waited longer than ${longest.toFixed(0)} ms`);
    // Too much to be told again in one piece: the closing event has it.
    expect(said().length).toBeGreaterThan(256 * 1024);
    expect(ear.text().length).toBeLessThan(said().length);
    expect(said().startsWith(ear.text())).toBe(true);
  });

  it('takes what is no message of ours for nothing, and what comes twice for what it is', async () => {
    const { run, ear, tell, said } = await talking();
    const entries = await redis.admin.xrange(`perdure:default:{${run}}:events`, '-', '+');
    for (const text of ['', 'x', '1-1 {', '1-1 []', '1-1 null', '1-1 {"x":1}', '1-1 {"x":"e","c":[[0,"{"]],"n":0}'])
      await redis.admin.spublish(`perdure:default:{${run}}:live`, text);
    for (const [id, [, text]] of entries) await redis.admin.spublish(`perdure:default:{${run}}:live`, `${id} ${text}`);
    for (const text of ['{', '"run_1"', '[1]']) await redis.admin.spublish('perdure:default:{workers}:interest', text);
    tell('end');
    await until(() => ear.text() === said(), 'the end');
  });

  it('tells of a wrong password, once, and goes on when it is right', async () => {
    await redis.admin.call('ACL', 'SETUSER', 'locked', 'on', '>right', '~perdure:*', '&perdure:*', '+@all');
    const lines: string[] = [];
    const url = redis.url.replace('//', '//locked:wrong@');
    const channel = createRedisChannel({ url, report: (line) => lines.push(line) });
    open.push(channel);
    await until(() => lines.length > 0, 'the report');
    expect(lines[0]).toContain('WRONGPASS');
    expect(lines[0]).not.toContain('wrong@');
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect(lines).toHaveLength(1);
    await redis.admin.call('ACL', 'SETUSER', 'locked', 'resetpass', '>wrong');
    await until(() => channel.isUp(), 'the right password');
  });

  it('tells what it is not allowed to do, once, and keeps still', async () => {
    await redis.admin.call('ACL', 'SETUSER', 'mute', 'on', '>x', '~perdure:*', '&perdure:*', '+@connection', '+info');
    const lines: string[] = [];
    const channel = await connect({ url: redis.url.replace('//', '//mute:x@'), report: (line) => lines.push(line) });
    const say = talker(channel, 'forbidden');
    channel.subscribe('forbidden', listener());
    channel.onCancel(() => {});
    for (const word of words(20)) {
      say(word);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    expect(channel.hearsCancels()).toBe(false);
    expect(lines.length).toBeGreaterThan(0);
    expect(new Set(lines).size).toBe(lines.length);
    expect(lines.every((line) => line.includes('NOPERM') && line.includes('docs/live.md'))).toBe(true);
  });
});

describe('the channel', { timeout: 60_000 }, () => {
  const speakAndHear = async (options: RedisChannelOptions) => {
    const [speaker, reader] = [await connect(options), await connect(options)];
    const ear = listener();
    reader.subscribe('run_1', ear);
    const canceled: string[] = [];
    speaker.onCancel((id) => canceled.push(id));
    const say = talker(speaker);
    await until(() => {
      say('word ');
      return ear.pieces() > 1;
    }, 'a word');
    await until(() => speaker.hearsCancels(), 'the subscription to cancels');
    reader.publishCancel('run_1');
    await until(() => canceled.length > 0, 'the cancel');
    const late = listener();
    reader.subscribe('run_1', late);
    await until(() => late.text() === ear.text(), 'the text so far');
  };

  it('needs no more than the rules that docs/live.md gives', async () => {
    const redis = await startRedis();
    const page = readFileSync(join(import.meta.dirname, '../../docs/live.md'), 'utf8');
    const rule = /^ACL SETUSER perdure (.*)$/m.exec(page)?.[1]?.replace('<password>', 'secret').split(/\s+/);
    expect(rule).toBeDefined();
    await redis.admin.call('ACL', 'SETUSER', 'perdure', ...(rule ?? []));
    await redis.admin.call('ACL', 'SETUSER', 'default', 'resetkeys', '~other:*');
    const lines: string[] = [];
    const url = redis.url.replace('//', '//perdure:secret@');
    await speakAndHear({ url, report: (line) => lines.push(line) });
    const [worker] = open;
    const presence = worker?.showWorker?.('worker_1', () => {});
    presence?.began({ workflowId: 'run_1', runId: 'e', activityId: '1', attempt: 1, isLast: false });
    await until(() => presence?.isSeen() === true, 'the sign of life');
    await new Promise((resolve) => setTimeout(resolve, 300));
    await presence?.stop();
    expect(lines).toEqual([]);
    await Promise.all(open.splice(0).map((channel) => channel.close()));
    await redis.stop();
  });

  it('speaks TLS', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'perdure-tls-'));
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
    const make = [
      'req',
      '-x509',
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-days',
      '1',
      '-keyout',
      key,
      '-out',
      cert,
      ...subject,
    ];
    execFileSync('openssl', make, { stdio: 'ignore' });
    const redis = await startRedis();
    for (const [name, value] of [
      ['tls-cert-file', cert],
      ['tls-key-file', key],
      ['tls-ca-cert-file', cert],
      ['tls-auth-clients', 'no'],
    ] as const)
      await redis.admin.config('SET', name, value);
    const port = redis.port + 1;
    await redis.admin.config('SET', 'tls-port', String(port));
    await speakAndHear({ url: `rediss://localhost:${port}`, tls: { ca: readFileSync(cert) } });
    await Promise.all(open.splice(0).map((channel) => channel.close()));
    await redis.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('works on a cluster, where each run is told on the node that holds it', async () => {
    const cluster = await startCluster(3);
    await speakAndHear({ url: cluster.url });
    const [speaker, reader] = open as [LiveChannel, LiveChannel];
    const ears = Array.from({ length: 20 }, (_, n) => {
      const ear = listener();
      reader.subscribe(`run_of_many_${n}`, ear);
      return { ear, say: talker(speaker, `run_of_many_${n}`) };
    });
    await until(() => {
      for (const { say } of ears) say('x');
      return ears.every(({ ear }) => ear.pieces() > 0);
    }, 'a word of each run');
    const heldBy = await Promise.all(cluster.nodes.map(async (node) => (await node.admin.keys('*')).length));
    expect(heldBy.every((count) => count > 0)).toBe(true);
    await Promise.all(open.splice(0).map((channel) => channel.close()));
    await cluster.stop();
  });

  it.each([
    ['http://host', 'it is not like redis://'],
    ['host:6379', 'it is not like redis://'],
    ['redis://:secret@', 'it is not like redis://'],
    ['redis://host/x', '"x" is no number of a database'],
    ['redis+cluster://host/1', 'a cluster has no numbered databases'],
  ])('refuses the URL %s, and does not repeat it', (url, why) => {
    const create = () => createRedisChannel({ url });
    expect(create).toThrow(why);
    expect(create).not.toThrow('secret');
  });
});

/** How long the event loop was busy at most while something was done, in milliseconds. */
async function longestPause(work: () => Promise<void>): Promise<number> {
  let [longest, last] = [0, performance.now()];
  const timer = setInterval(() => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
  }, 5);
  await work();
  clearInterval(timer);
  return longest;
}
