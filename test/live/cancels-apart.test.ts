/** A cancel and the call that runs are in different processes: with the channel it arrives at once, and heartbeats are rare. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { sharedClock } from '../support/clock-model.js';
import type { GatewayProcess } from '../support/gateway-process.js';
import { FETCH_TIMEOUT_MS } from '../support/redis-binary.js';
import { script } from '../support/test-agents.js';
import { until } from '../support/world.js';
import { createApartWorld, durableLines, openReader, quantile, startRun } from './apart-world.js';
import type { ApartWorld, Reader } from './apart-world.js';

const ROUNDS = 5;
const HEARTBEAT_MS = 5_000;
const OBSERVED_MS = 6_000;

interface Side {
  world: ApartWorld;
  gateway: GatewayProcess;
}

describe('a call in a worker of its own', { timeout: 180_000 }, () => {
  let [channel, without] = [] as unknown as [Side, Side];
  beforeAll(async () => {
    const open = async (kind: 'redis' | 'without') => {
      const world = await createApartWorld(inject('temporalAddress'), kind);
      await world.startWorker();
      return { world, gateway: await world.startGateway() };
    };
    [channel, without] = await Promise.all([open('redis'), open('without')]);
  }, FETCH_TIMEOUT_MS);
  afterAll(() => Promise.all([channel.world.end(), without.world.end()]));

  const waiting = script([{ tool_calls: [{ tool: 'test.patient.wait', args: {} }] }, { text: 'Done.' }]);
  const seen = (reader: Reader, type: string) => durableLines(reader.lines).some((event) => event.type === type);

  async function pending({ world }: Side, runId: string) {
    const { raw } = await world.temporal.workflow.getHandle(runId).describe();
    return raw.pendingActivities?.[0];
  }

  async function startCall(side: Side): Promise<{ runId: string; reader: Reader }> {
    const runId = await startRun(side.gateway, 'test.patient', waiting);
    const reader = openReader(side.gateway, runId);
    await until(() => seen(reader, 'tool_scheduled'), 'the tool to be called');
    await until(async () => (await pending(side, runId))?.lastStartedTime != null, 'the call to have begun');
    return { runId, reader };
  }

  const ways = {
    'over HTTP': async ({ gateway }: Side, runId: string) => {
      const response = await fetch(`${gateway.url}/v1/runs/${encodeURIComponent(runId)}/cancel`, { method: 'POST' });
      expect(response.ok).toBe(true);
    },
    "by Temporal's own means": ({ world }: Side, runId: string) => world.temporal.workflow.getHandle(runId).cancel(),
  };

  it.each(Object.entries(ways))('hears of a cancel %s long before its next heartbeat', async (way, cancel) => {
    const taken: number[] = [];
    for (let n = 0; n < ROUNDS; n++) {
      const { runId, reader } = await startCall(channel);
      await sleep(300);
      const began = sharedClock();
      await cancel(channel, runId);
      await until(() => seen(reader, 'tool_result'), 'the end of the call');
      const result = reader.lines.find(({ event }) => event.type === 'tool_result');
      taken.push((result?.at ?? Number.NaN) - began);
      await reader.done;
      expect(durableLines(reader.lines).at(-1)).toMatchObject({ type: 'run_completed', status: 'canceled' });
    }
    console.log(`from a cancel ${way} to the end of the call: ${taken.map((ms) => ms.toFixed(0)).join(', ')} ms`);
    // A heartbeat would come some 4.5 s later.
    expect(quantile(taken, 0.5)).toBeLessThan(HEARTBEAT_MS / 4);
  });

  it('sends a heartbeat every five seconds with the channel, and often without, or when it is gone', async () => {
    const beats = async (side: Side, runId: string) => {
      const heard = new Set<string>();
      const end = Date.now() + OBSERVED_MS;
      while (Date.now() < end) {
        const { seconds, nanos } = (await pending(side, runId))?.lastHeartbeatTime ?? {};
        if (seconds != null) heard.add(`${seconds.toString()}.${nanos ?? 0}`);
        await sleep(100);
      }
      return heard.size;
    };
    const [here, there] = await Promise.all([startCall(channel), startCall(without)]);
    const [rare, often] = await Promise.all([beats(channel, here.runId), beats(without, there.runId)]);
    await channel.world.redis.kill();
    const gone = await beats(channel, here.runId);
    await channel.world.redis.start();
    console.log(
      `heartbeats of a call in ${OBSERVED_MS / 1_000} s: ${rare} with the channel, ${often} without, ${gone} when Redis is gone`,
    );
    expect(rare).toBeLessThanOrEqual(2);
    expect(often).toBeGreaterThan(5);
    expect(gone).toBeGreaterThan(4);
    await Promise.all([channel, without].map((side, n) => ways['over HTTP'](side, [here, there][n]!.runId)));
    await Promise.all([here.reader.done, there.reader.done]);
  });
});
