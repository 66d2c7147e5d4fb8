/** Worker and gateway apart, as good as together: two gateways and three workers, with a Redis between them. */
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { sharedClock } from '../support/clock-model.js';
import type { GatewayProcess } from '../support/gateway-process.js';
import { FETCH_TIMEOUT_MS } from '../support/redis-binary.js';
import { call, script } from '../support/test-agents.js';
import { collect, until } from '../support/world.js';
import { createApartWorld, durableLines, openReader, problemsOf, quantile, startRun, wordsOf } from './apart-world.js';
import type { ApartWorld, Reader } from './apart-world.js';

const shown = (ages: readonly number[]) =>
  `p50 ${quantile(ages, 0.5).toFixed(1)} ms, p99 ${quantile(ages, 0.99).toFixed(1)} ms`;

describe('two gateways and three workers with a Redis between them', { timeout: 180_000 }, () => {
  let world: ApartWorld;
  let [here, there, alone] = [] as unknown as [GatewayProcess, GatewayProcess, GatewayProcess];
  beforeAll(async () => {
    world = await createApartWorld(inject('temporalAddress'));
    await Promise.all([world.startWorker(), world.startWorker(), world.startWorker()]);
    [here, there, alone] = await Promise.all([
      world.startGateway(),
      world.startGateway(),
      world.startGateway('without'),
    ]);
    // Whatever is done only once is done before anything is measured.
    for (const gateway of [here, there])
      await openReader(gateway, await startRun(gateway, 'test.clock', clock(5, 1))).done;
  }, FETCH_TIMEOUT_MS);
  afterAll(() => world.end());

  const clock = (words: number, every_ms: number) => JSON.stringify({ words, every_ms });
  const logOf = async (runId: string) => {
    const events = await collect(world.client.runs.stream(runId));
    return events.filter((event) => 'seq' in event);
  };

  it('a reader of either sees each word, in order and once, as soon as it is said', async () => {
    const runId = await startRun(here, 'test.clock', clock(300, 10));
    const readers = [openReader(here, runId), openReader(there, runId)];
    const polling = collect(world.client.runs.stream(runId));
    const hops = await bareHops(world.redis.url, 300, 10);
    await Promise.all(readers.map(({ done }) => done));
    await polling;
    const log = await logOf(runId);
    for (const [n, { lines }] of readers.entries()) {
      expect(problemsOf(lines, log)).toEqual([]);
      const { ages, text } = wordsOf(lines);
      const pieces = lines.filter(({ event }) => event.type === 'text_chunk').length;
      console.log(
        `words through gateway ${n + 1}: ${shown(ages)}, in ${pieces} pieces; a bare hop through Redis: ${shown(hops)}`,
      );
      expect(text.trim().split(' ')).toHaveLength(300);
      expect(pieces).toBeGreaterThan(100);
    }
    // Who polls gets the text with the event that closes it: half the time of the answer too late.
    const [first = [], second = []] = readers.map(({ lines }) => wordsOf(lines).ages);
    for (const ages of [first, second]) expect(quantile(ages, 0.5)).toBeLessThan((300 * 10) / 2 / 5);
  });

  // A reader whom a busy machine keeps waiting asks a worker. So it is compared with one who has no channel.
  it('runs that are watched from their start cost next to no query', async () => {
    const watch = async (gateway: GatewayProcess) => {
      const before = await gateway.queries();
      for (let n = 0; n < 10; n++) {
        const runId = await startRun(
          gateway,
          'test.agent',
          script([{ text: 'One.', tool_calls: [call('tools.echo', { text: 'x' })] }, { text: 'Two.' }]),
        );
        const reader = openReader(gateway, runId);
        await reader.done;
        expect(problemsOf(reader.lines, await logOf(runId))).toEqual([]);
      }
      return (await gateway.queries()) - before;
    };
    const [told, polled] = [await watch(here), await watch(alone)];
    console.log(`ten runs of two steps, read over HTTP: ${told} queries with Redis, ${polled} without`);
    expect(told * 4).toBeLessThan(polled);
  });

  it('who joins in the middle of an answer, at the other gateway, gets all of it, and hardly asks a worker', async () => {
    const answers = await Promise.all([1, 2, 3].map(() => startRun(here, 'test.clock', clock(300, 20))));
    const first = answers.map((runId) => openReader(here, runId));
    for (const { lines } of first)
      await until(() => wordsOf(lines).text.split(' ').length > 100, 'the middle of the answer');
    const join = async (gateway: GatewayProcess) => {
      const before = await gateway.queries();
      const readers = answers.map((runId) => openReader(gateway, runId));
      await Promise.all(readers.map(({ done }) => done));
      return { readers, queries: (await gateway.queries()) - before };
    };
    const [joined, polled] = await Promise.all([join(there), join(alone)]);
    console.log(`three who joined in the middle: ${joined.queries} queries with Redis, ${polled.queries} without`);
    for (const [n, runId] of answers.entries()) {
      const log = await logOf(runId);
      for (const { lines } of [first[n], joined.readers[n]].flatMap((reader) => reader ?? []))
        expect(problemsOf(lines, log)).toEqual([]);
      // In one piece, and then word for word.
      const chunks = (joined.readers[n]?.lines ?? []).filter(({ event }) => event.type === 'text_chunk');
      expect(String(chunks[0]?.event['text']).split(' ').length).toBeGreaterThan(90);
      expect(chunks.length).toBeGreaterThan(10);
    }
    expect(joined.queries * 2).toBeLessThan(polled.queries);
  });

  it('one who joins where nobody was before gets the text so far at once', async () => {
    const { run_id } = await world.client.runs.start({ agent_id: 'test.clock', input: clock(300, 20) });
    await new Promise((resolve) => setTimeout(resolve, 4_000));
    const reader = openReader(there, run_id);
    const began = sharedClock();
    await until(() => wordsOf(reader.lines).text !== '', 'the text so far');
    console.log(`the text so far of a run that nobody read: after ${(sharedClock() - began).toFixed(0)} ms`);
    expect(reader.lines.some(({ event }) => event.type === 'text_end')).toBe(false);
    expect(wordsOf(reader.lines).text.split(' ').length).toBeGreaterThan(20);
    await reader.done;
    expect(problemsOf(reader.lines, await logOf(run_id))).toEqual([]);
  });

  it('an answer has the same history with readers and without', async () => {
    const length = async (runId: string) => (await world.temporal.workflow.getHandle(runId).describe()).historyLength;
    const watched = await startRun(here, 'test.clock', clock(200, 10));
    await Promise.all([here, there].map((gateway) => openReader(gateway, watched).done));
    const { run_id } = await world.client.runs.start({ agent_id: 'test.clock', input: clock(200, 10) });
    await world.temporal.workflow.getHandle(run_id).result();
    expect(await length(watched)).toBe(await length(run_id));
  });

  it('three hundred runs that are watched on one gateway take two connections to Redis', async () => {
    const names = async () =>
      String(await world.redis.admin.client('LIST'))
        .split('\n')
        .filter((line) => line.includes('name=perdure ')).length;
    // Five processes, each with one for commands and one that listens.
    expect(await names()).toBe(10);
    const before = await here.queries();
    const ask = { tool: 'runtime.user.ask_clarification', args: { question: 'Which one?' } };
    const readers: Reader[] = [];
    const runs = await inLanes(300, 10, async (n) => {
      const runId = await startRun(here, 'test.asking', script([{ tool_calls: [ask] }, { text: 'Done.' }]));
      readers[n] = openReader(here, runId);
      return runId;
    });
    await until(
      () => readers.every(({ lines }) => durableLines(lines).some(({ type }) => type === 'await_clarification')),
      'all to wait for an answer',
      120_000,
    );
    expect(await names()).toBe(10);
    const channels = await world.redis.admin.pubsub('SHARDCHANNELS');
    expect(channels.filter((name) => String(name).endsWith(':live')).length).toBe(300);
    const memory = await Promise.all(
      runs.slice(0, 20).map((runId) => world.redis.admin.call('MEMORY', 'USAGE', `perdure:default:{${runId}}:events`)),
    );
    console.log(
      `300 watched runs: ${await names()} connections of 5 processes, ${(await here.queries()) - before} queries, ${quantile(memory.map(Number), 0.5)} bytes of Redis per run`,
    );
    await inLanes(300, 20, (n) =>
      fetch(`${here.url}/v1/runs/${encodeURIComponent(runs[n] ?? '')}/cancel`, { method: 'POST' }),
    );
    await Promise.all(readers.map(({ done }) => done));
    for (const [n, { lines }] of readers.entries())
      if (n % 30 === 0) expect(problemsOf(lines, await logOf(runs[n] ?? ''))).toEqual([]);
  });
});

/** How long a message takes through Redis and nothing else. */
async function bareHops(url: string, count: number, everyMs: number): Promise<number[]> {
  const [from, to] = [new Redis(url), new Redis(url)];
  const ages: number[] = [];
  await to.ssubscribe('hop');
  to.on('smessage', (_channel: string, made: string) => ages.push(sharedClock() - Number(made)));
  for (let n = 0; n < count; n++) {
    await from.spublish('hop', sharedClock().toFixed(3));
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
  from.disconnect();
  to.disconnect();
  return ages;
}

async function inLanes<T>(count: number, lanes: number, task: (n: number) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  let next = 0;
  const lane = async () => {
    for (let n = next++; n < count; n = next++) results[n] = await task(n);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return results;
}
