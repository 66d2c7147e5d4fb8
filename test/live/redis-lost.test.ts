/** Redis is speed, never truth: whatever happens to it, each of two hundred readers ends with exactly the log. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { sharedClock } from '../support/clock-model.js';
import type { GatewayProcess } from '../support/gateway-process.js';
import { FETCH_TIMEOUT_MS } from '../support/redis-binary.js';
import { call, script } from '../support/test-agents.js';
import type { WorkerProcess } from '../support/worker-process.js';
import { collect, until } from '../support/world.js';
import { createApartWorld, durableLines, openReader, problemsOf, startRun } from './apart-world.js';
import type { ApartWorld, Line, Reader } from './apart-world.js';

const READERS = 200;
const SECONDS_OF_SILENCE = 10;
const words = (count: number) => Array.from({ length: count }, (_, n) => `word${n} `);

describe('two gateways with two hundred readers, and two workers', { timeout: 240_000 }, () => {
  let world: ApartWorld;
  let workers: WorkerProcess[];
  let gateways: [GatewayProcess, GatewayProcess];
  beforeAll(async () => {
    world = await createApartWorld(inject('temporalAddress'));
    workers = await Promise.all([world.startWorker(), world.startWorker()]);
    gateways = await Promise.all([world.startGateway(), world.startGateway()]);
  }, FETCH_TIMEOUT_MS);
  afterAll(() => world.end());

  const said = () => [...workers, ...gateways].map((each) => each.lines().filter((line) => /Redis at/.test(line)));
  const pieces = (lines: readonly Line[], from: number, to = Number.POSITIVE_INFINITY) =>
    lines.filter(({ at, event }) => event.type === 'text_chunk' && at > from && at < to).length;
  const facts = (lines: readonly Line[], from: number, to: number) =>
    durableLines(lines.filter(({ at }) => at > from && at < to)).length;

  /** Four runs with a tool call after every two seconds of words, for half a minute and more. */
  async function readers(): Promise<{ runs: string[]; all: Reader[] }> {
    const steps = Array.from({ length: 18 }, (_, n) => ({
      text: words(20),
      delay_ms: 100,
      tool_calls: [call('tools.echo', { text: `${n}` })],
    }));
    const input = script([...steps, { text: words(20), delay_ms: 100 }]);
    const runs = await Promise.all([0, 1, 2, 3].map((n) => startRun(gateways[n % 2]!, 'test.agent', input)));
    const all = Array.from({ length: READERS }, (_, n) => openReader(gateways[n % 2]!, runs[n % 4]!));
    await until(() => all.every(({ lines }) => pieces(lines, 0) > 3), 'words at every reader', 60_000);
    return { runs, all };
  }

  it('each reader ends with the same bytes when Redis is emptied, killed, restarted and paused', async () => {
    const { runs, all } = await readers();
    const eachSees = (what: (lines: readonly Line[]) => number, least: number, why: string) =>
      until(() => all.every(({ lines }) => what(lines) >= least), why, 60_000);

    await world.redis.admin.flushall();
    const emptied = sharedClock();
    await eachSees((lines) => pieces(lines, emptied), 5, 'words after it was emptied');

    await world.redis.kill();
    const killed = sharedClock();
    // Nothing is said on a channel now: what comes is read from Temporal.
    await eachSees((lines) => facts(lines, killed + 500, Number.POSITIVE_INFINITY), 1, 'facts while it is gone');
    const polled = sharedClock();
    await world.redis.start();
    const started = sharedClock();
    await eachSees((lines) => pieces(lines, started), 5, 'words after it is back');
    const back = sharedClock();

    world.redis.pause();
    const paused = sharedClock();
    await sleep(SECONDS_OF_SILENCE * 1_000);
    const resumed = sharedClock();
    world.redis.resume();
    for (const { lines } of all) expect(facts(lines, paused + 3_000, resumed)).toBeGreaterThan(0);
    await eachSees((lines) => pieces(lines, resumed), 5, 'words after it speaks again');
    const again = sharedClock();
    console.log(
      `${READERS} readers: a fact at each ${Math.round(polled - killed)} ms after Redis was killed; words at each ${Math.round(back - started)} ms after it was started, ${Math.round(again - resumed)} ms after a silence of ${SECONDS_OF_SILENCE} s`,
    );

    const told = await Promise.all(all.map(({ done }) => done));
    for (const [n, runId] of runs.entries()) {
      const log = (await collect(world.client.runs.stream(runId))).filter((event) => 'seq' in event);
      const ofRun = all.filter((_, at) => at % 4 === n);
      expect(ofRun.flatMap(({ lines }) => problemsOf(lines, log))).toEqual([]);
      const durable = told.filter((_, at) => at % 4 === n).map(durableText);
      expect(new Set(durable).size).toBe(1);
    }
    // Once for each time that it was gone, and once each that it was over; who needs nothing of it may not notice a silence.
    for (const lines of said())
      expect(lines.map((line) => /is (away|back)/.exec(line)?.[1]).join(' ')).toMatch(/^away back( away back)?$/);
  });
});

function durableText(text: string): string {
  return text
    .split('\n')
    .filter((line) => line.includes('"seq":'))
    .join('\n');
}
