/** What becomes of a reader whose run cannot be read: what lasts ends it with a typed marker, what may pass is waited out. */
import { status as grpcStatus } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { StreamEvent } from '../../client/index.js';
import { connectReader } from '../support/failing-reader.js';
import { script, testConfig } from '../support/test-agents.js';
import { createWorld, durable, until } from '../support/world.js';
import type { World } from '../support/world.js';

let world: World;
beforeAll(async () => {
  world = await createWorld(testConfig());
});
afterAll(() => world.end());

async function hanging(): Promise<string> {
  const input = script([{ text: ['well'], hang: true }]);
  return (await world.client.runs.start({ agent_id: 'test.agent', input })).run_id;
}

describe('a run that cannot be read', () => {
  it.each([
    ['an expired credential', grpcStatus.UNAUTHENTICATED],
    ['a credential that may not', grpcStatus.PERMISSION_DENIED],
  ])('any more because of %s ends its reader with a marker, and the run goes on', async (_why, code) => {
    const reader = await connectReader(world);
    const runId = await hanging();
    const seen: StreamEvent[] = [];
    const reading = (async () => {
      for await (const event of reader.client.runs.stream(runId)) seen.push(event);
    })();
    await until(() => durable(seen).some((event) => event.type === 'step_started'), 'the first step');
    reader.failWith(code);
    await reading;
    expect(seen.at(-1)).toMatchObject({
      type: 'stream_failed',
      run_id: runId,
      code: 'server_refused',
      message: expect.stringContaining('as the test wants it'),
    });
    expect(seen.some((event) => event.type === 'stream_ended')).toBe(false);
    await expect(reader.client.runs.result(runId)).rejects.toMatchObject({ code: 'server_refused' });
    reader.failWith(undefined);
    expect((await world.client.runs.get(runId)).status).toBe('running');
    await world.client.runs.cancel(runId);
    await reader.close();
  });

  it('in a namespace that there is not ends its reader with a marker', async () => {
    const reader = await connectReader(world, 'no-such-namespace');
    const seen: StreamEvent[] = [];
    for await (const event of reader.client.runs.stream('run_x')) seen.push(event);
    expect(seen.map((event) => event.type)).toEqual(['stream_failed']);
    await reader.close();
  });

  it('for a while is waited out, and that is told once', async () => {
    const reader = await connectReader(world);
    const runId = await hanging();
    const seen: StreamEvent[] = [];
    const reading = (async () => {
      for await (const event of reader.client.runs.stream(runId)) seen.push(event);
    })();
    await until(() => durable(seen).some((event) => event.type === 'step_started'), 'the first step');
    reader.failWith(grpcStatus.INTERNAL);
    await until(() => reader.obstacles.length > 0, 'the obstacle');
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    reader.failWith(undefined);
    await world.client.runs.cancel(runId);
    await reading;
    expect(seen.at(-1)).toMatchObject({ type: 'run_completed', status: 'canceled' });
    expect(reader.obstacles).toEqual([`run ${runId}`]);
    await reader.close();
  });
});

describe('the text of a stream', () => {
  it('is the answer, also for a reader in another process who polls, and after the end', async () => {
    const reader = await connectReader(world);
    const text = Array.from({ length: 20 }, (_, n) => `w${n} `);
    const input = script([{ thinking: 'hm', text, delay_ms: 20 }]);
    const { run_id } = await reader.client.runs.start({ agent_id: 'test.agent', input });
    const printed = async () => {
      let all = '';
      for await (const piece of reader.client.runs.stream(run_id).text()) all += piece;
      return all;
    };
    expect(await printed()).toBe(text.join(''));
    expect(await printed()).toBe(text.join(''));
    expect(await reader.client.runs.result(run_id)).toMatchObject({ status: 'success', answer: text.join('') });
    await reader.close();
  });

  it('begins again after a blank line where a call was made again and said something else', async () => {
    const input = script([
      {
        text: ['Now ', 'for ', 'good.'],
        delay_ms: 100,
        attempts: [{ text: ['At ', 'first '], fail: { code: 'model_stream_cut', after_deltas: 2 } }, {}],
      },
    ]);
    const { run_id } = await world.client.runs.start({ agent_id: 'test.agent', input });
    let all = '';
    for await (const piece of world.client.runs.stream(run_id).text()) all += piece;
    expect(all).toBe('At first \n\nNow for good.');
  });
});
