/** A vendor that is away for a while, on a real socket: runs wait for it, within bounds, and stop when they are told to. */
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Context } from '@temporalio/activity';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { openOutage } from '../../activities/outlast-outage.js';
import { PerdureError } from '../../contract/errors.js';
import { defineAgent } from '../../kit/index.js';
import type { ModelProfile, RuntimeOptions } from '../../kit/index.js';
import { openai, scripted, scriptFromInput } from '../../providers/index.js';
import { script } from '../support/test-agents.js';
import { createWorld, ofType, until } from '../support/world.js';
import { startDialectServer } from '../providers/openai/dialect-server.js';

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

const ANSWER = [
  { choices: [{ index: 0, delta: { content: 'Back again.' } }] },
  { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
  { choices: [], usage: { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 } },
];

/** A vendor with an address, where nobody listens until it is opened. */
async function createVendor() {
  let isRefusing = false;
  const asked: string[] = [];
  const server: Server = createServer((request, response) => {
    request.resume();
    request.on('end', () => {
      asked.push(isRefusing ? 'refused' : 'answered');
      if (isRefusing) {
        const error = { message: 'slow down', type: 'tokens', code: 'rate_limit_exceeded' };
        return response.writeHead(429, { 'content-type': 'application/json' }).end(JSON.stringify({ error }));
      }
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      return response.end(ANSWER.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join(''));
    });
  });
  const listen = (port: number) => new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  await listen(0);
  const { port } = server.address() as AddressInfo;
  await close();
  ends.push(close);
  return {
    asked,
    provider: openai({ apiKey: 'sk-test', baseURL: `http://127.0.0.1:${port}/v1` }),
    open: () => listen(port),
    refuse: (is: boolean) => void (isRefusing = is),
  };
}

async function worldOf(models: Record<string, ModelProfile>, runtime: RuntimeOptions = {}) {
  const agent = defineAgent({
    agent_id: 'test.waiting',
    instructions: 'Answer.',
    limits: { run: { time_budget: '1h' } },
  });
  const world = await createWorld({
    models,
    agents: [agent],
    runtime: { heartbeat_timeout: '5s', cancel_grace: 500, ...runtime },
  });
  ends.push(() => world.end());
  return world;
}

/** Longer than four attempts with their pauses take. */
const AWAY_MS = 6_000;

describe('a vendor that is away for a while', () => {
  it.each(['cannot be reached', 'takes no requests'])('and %s is waited for, as one attempt', async (how) => {
    const vendor = await createVendor();
    if (how === 'takes no requests') {
      vendor.refuse(true);
      await vendor.open();
    }
    const world = await worldOf({ main: { provider: vendor.provider, model: 'gpt-5-mini' } });
    const run = world.run('test.waiting', 'Hello?');
    await new Promise((resolve) => setTimeout(resolve, AWAY_MS));
    if (how === 'takes no requests') vendor.refuse(false);
    else await vendor.open();
    const log = await run;
    expect(log.at(-1)).toMatchObject({ type: 'run_completed', status: 'success', answer: 'Back again.' });
    expect(ofType(log, 'attempt_retracted')).toEqual([]);
    // No reservation of a dead attempt is charged.
    expect(log.at(-1)).toMatchObject({ usage: { total_tokens: 8 } });
    expect(log.at(-1)).not.toMatchObject({ usage: { charged_tokens: expect.anything() as number } });
    expect(vendor.asked.at(-1)).toBe('answered');
  });

  it('does not keep a run that is canceled', async () => {
    const vendor = await createVendor();
    const world = await worldOf({ main: { provider: vendor.provider, model: 'gpt-5-mini' } });
    const { run_id } = await world.client.runs.start({ agent_id: 'test.waiting', input: 'Hello?' });
    await until(async () => (await world.client.runs.get(run_id)).phase === 'planning', 'the model call');
    await new Promise((resolve) => setTimeout(resolve, 5_000));
    await world.client.runs.cancel(run_id);
    expect((await world.logOf(run_id)).at(-1)).toMatchObject({ status: 'canceled' });
  });

  it('does not keep a run longer than its time budget', async () => {
    const vendor = await createVendor();
    const world = await worldOf({ main: { provider: vendor.provider, model: 'gpt-5-mini' } });
    const limits = { run: { time_budget: '3s' } };
    const log = await world.run('test.waiting', 'Hello?', { limits });
    expect(log.at(-1)).toMatchObject({ status: 'failed', failure: { code: 'model_network' } });
  });

  it('is waited for as long as the configuration says', async () => {
    const vendor = await createVendor();
    vendor.refuse(true);
    await vendor.open();
    const main = { provider: vendor.provider, model: 'gpt-5-mini' };
    const asks = async (model_retry_for: number | string) => {
      vendor.asked.length = 0;
      const world = await worldOf({ main }, { model_retry_for, model_max_attempts: 1 });
      const log = await world.run('test.waiting', 'Hello?');
      expect(log.at(-1)).toMatchObject({ status: 'failed', failure: { code: 'model_rate_limited' } });
      return vendor.asked.length;
    };
    expect(await asks(0)).toBe(1);
    expect(await asks('4s')).toBeGreaterThan(1);
  });

  it('is not waited for where another can be asked', async () => {
    const vendor = await createVendor();
    const world = await worldOf({
      main: { provider: vendor.provider, model: 'gpt-5-mini', fallback: ['spare'], default: true },
      spare: { provider: scripted(scriptFromInput), model: 'scripted-1' },
    });
    const log = await world.run('test.waiting', script([{ text: 'From the spare.' }]));
    expect(log.at(-1)).toMatchObject({ status: 'success', answer: 'From the spare.' });
    expect(ofType(log, 'model_fallback')).toMatchObject([{ from: 'main', to: 'spare', reason: 'model_network' }]);
  });
});

describe('a wait', () => {
  const away = new PerdureError('model_network', 'away', { not_taken: true });
  const runtime = { model_retry_ms: 1_000, model_timeout_ms: 60_000 } as never;
  const open = (heartbeatDetails?: object, spec = { runtime }) => {
    const noted: object[] = [];
    const heartbeat = { note: (details: object) => void noted.push(details), stop() {} };
    const outage = openOutage({ info: { heartbeatDetails } } as unknown as Context, heartbeat, spec, true);
    return { noted, outage };
  };
  const { signal } = new AbortController();
  const failing = (error: Error) => () => Promise.reject(error);

  it('goes on where the attempt before it was lost, and does not begin again', async () => {
    const { noted, outage } = open();
    await expect(outage.outlast(signal, failing(away))).rejects.toBe(away);
    expect(noted).toEqual([{ outage_since: expect.any(Number) as number }]);
    const before = { outage_since: Date.now() - 5_000 };
    const ask = vi.fn<() => Promise<never>>(failing(away));
    await expect(open(before).outage.outlast(signal, ask)).rejects.toBe(away);
    expect(ask).toHaveBeenCalledTimes(1);
  });

  it('is over when the vendor has answered: the next one begins anew', async () => {
    const { noted, outage } = open({ outage_since: Date.now() - 60_000 });
    await outage.outlast(signal, async () => {});
    expect(noted).toEqual([{ outage_since: undefined }]);
    let asks = 0;
    await outage.outlast(signal, async () => {
      if (++asks === 1) throw away;
    });
    expect(asks).toBe(2);
  });

  it('is for what the vendor did not take only, and as long as the vendor says', async () => {
    const { outage } = open();
    const broken = new PerdureError('model_stream_cut', 'cut');
    await expect(outage.outlast(signal, failing(broken))).rejects.toBe(broken);
    const later = new PerdureError('model_rate_limited', 'later', { not_taken: true, retry_after_ms: 30_000 });
    await expect(outage.outlast(signal, failing(later))).rejects.toBe(later);
  });

  it('leaves half of the time for the answer', async () => {
    const short = { model_retry_ms: 60_000, model_timeout_ms: 800 } as never;
    const ask = vi.fn<() => Promise<never>>(failing(away));
    await expect(open(undefined, { runtime: short }).outage.outlast(signal, ask)).rejects.toBe(away);
    // The first pause may just fit, and the second one never does.
    expect(ask.mock.calls.length).toBeLessThanOrEqual(2);
  });
});

describe('a server that tells no usage and keeps to no limit', () => {
  it('is cut off, and what it wrote counts against the limits of the run', async () => {
    const server = await startDialectServer({ limit: 'none', words: 100_000 });
    ends.push(() => server.close());
    const provider = openai({ apiKey: 'sk-test', baseURL: server.baseURL });
    const parameters = { max_output_tokens: 120 };
    const world = await worldOf({ main: { provider, model: 'local', parameters, max_output_tokens: 120 } });
    const log = await world.run('test.waiting', 'Write.');
    const [{ usage } = expect.fail()] = ofType(log, 'usage_recorded');
    expect(usage).toMatchObject({ estimated: true, input_tokens: expect.any(Number) as number });
    expect(usage.output_tokens).toBeGreaterThan(120);
    expect(usage.output_tokens).toBeLessThan(600);
    expect(log.at(-1)).toMatchObject({ usage: { total_tokens: usage.total_tokens } });
  });
});
