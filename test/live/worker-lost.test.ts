/** A worker that is killed in the middle of a call: with the channel its peers find out long before heartbeats would tell. */
import { readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { SIGN_MS, SILENT_MS } from '../../live/redis/presence.js';
import { LOOKED_AGAIN_AFTER_MS, NEXT_ATTEMPT_AFTER_MS } from '../../worker/give-up-lost-calls.js';
import { sharedClock } from '../support/clock-model.js';
import type { GatewayProcess } from '../support/gateway-process.js';
import { FETCH_TIMEOUT_MS } from '../support/redis-binary.js';
import { call, script } from '../support/test-agents.js';
import type { WorkerProcess } from '../support/worker-process.js';
import { collect, until } from '../support/world.js';
import { createApartWorld, durableLines, openReader, problemsOf, startRun, workerOf } from './apart-world.js';
import type { ApartWorld, Line } from './apart-world.js';

interface Side {
  world: ApartWorld;
  gateway: GatewayProcess;
  workers: WorkerProcess[];
}

describe('a worker that is killed in a call', { timeout: 240_000 }, () => {
  let [channel, without] = [] as unknown as [Side, Side];
  beforeAll(async () => {
    const open = async (kind: 'redis' | 'without') => {
      const world = await createApartWorld(inject('temporalAddress'), kind);
      const workers = await Promise.all([world.startWorker(), world.startWorker()]);
      return { world, workers, gateway: await world.startGateway() };
    };
    [channel, without] = await Promise.all([open('redis'), open('without')]);
  }, FETCH_TIMEOUT_MS);
  afterAll(() => Promise.all([channel.world.end(), without.world.end()]));

  const isResult = (event: Line['event']) => event.type === 'tool_result';
  const files: string[] = [];
  const file = () => {
    const path = join(tmpdir(), `perdure-lost-${randomUUID()}`);
    files.push(path);
    return path;
  };
  afterAll(() => Promise.all(files.map((path) => rm(path, { force: true }))));

  /** Kills the worker that has the call, and gives the time until the server says that another one has begun it. */
  async function kill(side: Side, agent: string, input: string, goOn: () => Promise<void>): Promise<number> {
    const runId = await startRun(side.gateway, agent, input);
    const reader = openReader(side.gateway, runId);
    const callBegun = agent === 'test.clock' ? 'step_started' : 'tool_scheduled';
    await until(() => durableLines(reader.lines).some(({ type }) => type === callBegun), 'the call');
    const worker = await workerOf(side.world, runId, side.workers);
    // Its peers have to have heard of the call: those that end within a moment are not told.
    await sleep(300);
    worker.kill('SIGKILL');
    const killed = sharedClock();
    await until(
      async () => {
        const { raw } = await side.world.temporal.workflow.getHandle(runId).describe();
        const [pending] = raw.pendingActivities ?? [];
        return pending?.attempt === 2 && !pending.lastWorkerIdentity?.startsWith(`${worker.pid}@`);
      },
      'the next attempt',
      60_000,
    );
    const taken = sharedClock() - killed;
    await goOn();
    side.workers = [...side.workers.filter((each) => each !== worker), await side.world.startWorker()];
    await reader.done;
    const log = (await collect(side.world.client.runs.stream(runId))).filter((event) => 'seq' in event);
    expect(problemsOf(reader.lines, log)).toEqual([]);
    expect(durableLines(reader.lines).at(-1)).toMatchObject({ type: 'run_completed', status: 'success' });
    return taken;
  }

  const stories = {
    model: (side: Side) =>
      kill(side, 'test.clock', JSON.stringify({ words: 150, every_ms: 20 }), () => Promise.resolve()),
    tool: (side: Side) => {
      const path = file();
      const waiting = { tool_calls: [{ tool: 'test.patient.await_file', args: { path } }] };
      return kill(side, 'test.patient', script([waiting, { text: 'Done.' }]), () => writeFile(path, ''));
    },
  };

  it('is found, and its calls begin anew, in the 3 s that are promised: the waits leave a fifth of them for the rest', async () => {
    // Its last sign may be of the moment of its end; a peer looks when it gives its own, twice at the calls.
    const waits = SILENT_MS + SIGN_MS + LOOKED_AGAIN_AFTER_MS + NEXT_ATTEMPT_AFTER_MS;
    expect(waits).toBeLessThanOrEqual(0.8 * 3_000);
    expect(await readFile('README.md', 'utf8')).toContain('a worker that was killed begin anew within 3 seconds');
  });

  it.each(Object.entries(stories))(
    'costs a %s call some seconds with the channel, and the heartbeat timeout without',
    async (name, story) => {
      // One without: that one is known to take the ten seconds of the heartbeat timeout.
      const slow = await story(without);
      const quick = [];
      for (let n = 0; n < 2; n++) quick.push(await story(channel));
      console.log(
        `a ${name} call begins anew ${quick.map((ms) => ms.toFixed(0)).join(', ')} ms after a kill with the channel, ${slow.toFixed(0)} ms without`,
      );
      expect(Math.min(...quick)).toBeLessThan(slow / 2);
    },
  );

  it('never has a tool run twice that is not safe to repeat', async () => {
    const path = file();
    const step = { tool_calls: [call('effects.write_line', { path, line: 'x', ms: 20_000 })] };
    const runId = await startRun(channel.gateway, 'test.agent', script([step, { text: 'Perhaps written.' }]));
    const reader = openReader(channel.gateway, runId);
    const written = async () => (await readFile(path, 'utf8').catch(() => '')).split('\n').filter(Boolean).length;
    await until(async () => (await written()) > 0, 'the effect');
    const worker = await workerOf(channel.world, runId, channel.workers);
    await sleep(300);
    worker.kill('SIGKILL');
    const killed = sharedClock();
    channel.workers = [...channel.workers.filter((each) => each !== worker), await channel.world.startWorker()];
    await reader.done;
    const result = durableLines(reader.lines).find((event) => event.type === 'tool_result');
    const told = reader.lines.find(({ event }) => isResult(event))?.at ?? Number.NaN;
    console.log(`that its outcome is unknown is known ${(told - killed).toFixed(0)} ms after the kill`);
    expect(result).toMatchObject({ failure: { kind: 'outcome_unknown' } });
    expect(await written()).toBe(1);
  });

  it('and one that is only paused for some seconds keeps its call', async () => {
    const path = file();
    const step = { tool_calls: [call('effects.write_line', { path, line: 'x', ms: 1_000 })] };
    const runId = await startRun(channel.gateway, 'test.agent', script([step, { text: 'Written.' }]));
    const reader = openReader(channel.gateway, runId);
    await until(async () => (await readFile(path, 'utf8').catch(() => '')) !== '', 'the effect');
    const worker = await workerOf(channel.world, runId, channel.workers);
    await sleep(300);
    worker.kill('SIGSTOP');
    await sleep(4_500);
    worker.kill('SIGCONT');
    await reader.done;
    const result = durableLines(reader.lines).find((event) => event.type === 'tool_result');
    expect(result).toMatchObject({ type: 'tool_result', attempts: 1 });
    expect(result).not.toHaveProperty('failure');
  });
});
