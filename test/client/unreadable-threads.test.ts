/** What becomes of a reader whose thread cannot be read: what lasts ends it with a typed marker, what may pass is waited out. */
import { status as grpcStatus } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ThreadEvent } from '../../client/index.js';
import { serveFor } from '../gateway/gateway-world.js';
import { connectReader } from '../support/failing-reader.js';
import { script } from '../support/test-agents.js';
import { createWorld, until } from '../support/world.js';
import type { World } from '../support/world.js';
import { settled, threadConfig } from '../threads/thread-world.js';

let world: World;
beforeAll(async () => {
  world = await createWorld(threadConfig());
});
afterAll(() => world.end());

/** Between its first turn and the second. */
async function idleThread(): Promise<string> {
  const messages = [script([{ text: 'one' }, { text: 'two' }])];
  const { thread_id } = await world.client.threads.start({ agent_id: 'test.agent', messages });
  await settled(world.client.threads, thread_id);
  return thread_id;
}

function follow(stream: AsyncIterable<ThreadEvent>): { seen: ThreadEvent[]; reading: Promise<void> } {
  const seen: ThreadEvent[] = [];
  const reading = (async () => {
    for await (const event of stream) seen.push(event);
  })();
  return { seen, reading };
}

const ends = (seen: readonly ThreadEvent[]) => seen.filter((event) => event.type === 'run_completed');

const REFUSALS: [string, number][] = [
  ['an expired credential', grpcStatus.UNAUTHENTICATED],
  ['a credential that may not', grpcStatus.PERMISSION_DENIED],
];

describe('a thread that cannot be read', () => {
  it.each(REFUSALS)('any more because of %s ends its reader between turns, and goes on', async (_why, code) => {
    const reader = await connectReader(world);
    const threadId = await idleThread();
    const { seen, reading } = follow(reader.client.threads.stream(threadId));
    await until(() => ends(seen).length === 1, 'the first turn');
    reader.failWith(code);
    await reading;
    expect(seen.at(-1)).toMatchObject({
      type: 'stream_failed',
      run_id: `${threadId}/turn_2`,
      code: 'server_refused',
      message: expect.stringContaining('as the test wants it'),
    });
    // One who comes now is not left waiting either.
    const late = follow(reader.client.threads.stream(threadId));
    await late.reading;
    expect(late.seen).toMatchObject([{ type: 'stream_failed', code: 'server_refused' }]);
    await expect(reader.client.threads.get(threadId)).rejects.toMatchObject({ code: 'server_refused' });
    expect(reader.obstacles).toEqual([]);
    await reader.close();
    await world.client.threads.send(threadId, { message: 'more' });
    expect((await settled(world.client.threads, threadId)).messages).toHaveLength(4);
  });

  it.each(REFUSALS)('by a gateway because of %s has its stream cut, and its log says why', async (_why, code) => {
    const reader = await connectReader(world);
    const gateway = await serveFor({ ...world, client: reader.client }, { kind: 'off' });
    const threadId = await idleThread();
    const path = `/v1/threads/${encodeURIComponent(threadId)}/events`;
    const response = await fetch(gateway.url + path);
    expect(response.status).toBe(200);
    const body = response.body?.getReader();
    if (body === undefined) throw new Error('the stream has no body');
    let text = '';
    const read = async () => {
      for (let part = await body.read(); !part.done; part = await body.read())
        text += Buffer.from(part.value).toString();
    };
    const reading = read();
    await until(() => text.includes('"run_completed"'), 'the first turn');
    reader.failWith(code);
    await expect(reading).rejects.toThrow();
    await until(() => gateway.log().includes('server_refused'), 'the line of the log');
    // What is wrong is ours: a caller that comes back later may find it mended.
    const refused = await gateway.as().get(path);
    expect([refused.status, refused.headers.get('perdure-error-code')]).toEqual([503, 'server_unreachable']);
    expect(refused.text).not.toContain('as the test wants it');
    await gateway.stop();
    await reader.close();
  });

  it('in a namespace that there is not ends its reader with a marker', async () => {
    const reader = await connectReader(world, 'no-such-namespace');
    const { seen, reading } = follow(reader.client.threads.stream('thr_x'));
    await reading;
    expect(seen).toMatchObject([{ type: 'stream_failed', code: 'server_refused' }]);
    await reader.close();
  });

  it('for a while is waited out, and that is told once', async () => {
    const reader = await connectReader(world);
    const threadId = await idleThread();
    const { seen, reading } = follow(reader.client.threads.stream(threadId));
    await until(() => ends(seen).length === 1, 'the first turn');
    for (const times of [1, 2]) {
      reader.failWith(grpcStatus.INTERNAL);
      const before = reader.failed();
      await until(() => reader.failed() >= before + 3, 'some looks that fail');
      expect(reader.obstacles).toEqual(Array.from({ length: times }, () => `thread ${threadId}`));
      const good = reader.succeeded();
      reader.failWith(undefined);
      await until(() => reader.succeeded() >= good + 2, 'looks that succeed');
    }
    await world.client.threads.send(threadId, { message: 'more' });
    await until(() => ends(seen).length === 2, 'the second turn');
    await world.client.threads.delete(threadId);
    await reading;
    expect(seen.at(-1)).toMatchObject({ type: 'thread_ended', reason: 'deleted' });
    await reader.close();
  });

  it('from the start, for a while, is waited out', async () => {
    const reader = await connectReader(world);
    const threadId = await idleThread();
    reader.failWith(grpcStatus.INTERNAL);
    const { seen, reading } = follow(reader.client.threads.stream(threadId, { from: 1, follow: true }));
    await until(() => reader.obstacles.length > 0, 'the obstacle');
    reader.failWith(undefined);
    await until(() => ends(seen).length === 1, 'the first turn');
    await world.client.threads.delete(threadId);
    await reading;
    expect(reader.obstacles).toEqual([`thread ${threadId}`]);
    await reader.close();
  });
});
