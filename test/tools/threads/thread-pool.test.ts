import { afterEach, describe, expect, it } from 'vitest';
import { createFairQueue } from '../../../tools/fair-queue.js';
import { createThreadPool } from '../../../tools/threads/thread-pool.js';
import type { ThreadPool } from '../../../tools/threads/thread-pool.js';

const signal = new AbortController().signal;
const ends: ThreadPool<string, number>[] = [];
afterEach(async () => {
  await Promise.all(ends.splice(0).map((pool) => pool.close()));
});

function open(at_once = 1, time_ms = 500) {
  const queue = createFairQueue({ what: 'tests', at_once, per_group: at_once, most_waiting: 100, wait_ms: 60_000 });
  const pool = createThreadPool<string, number>({
    file: '../test/tools/threads/fixtures/thread.js',
    queue,
    time_ms,
    memory_mb: 32,
  });
  ends.push(pool);
  return (request: string, given = signal) => pool.ask(request, { group: 'a', signal: given });
}

describe('a thread', () => {
  it('serves one request after another, and one more where there is room', async () => {
    const ask = open(2);
    const first = await ask('id');
    expect(await ask('id')).toBe(first);
    const both = await Promise.all([ask('id'), ask('id')]);
    expect(new Set(both).size).toBe(2);
    expect(both).toContain(first);
  });

  it('that takes too long is stopped, and replaced for the next request', async () => {
    const ask = open();
    const first = await ask('id');
    await expect(ask('spin')).rejects.toMatchObject({ name: 'TooExpensive', message: 'it takes more than 0.5 s' });
    expect(await ask('id')).not.toBe(first);
  });

  it('that takes too much memory is stopped alone', async () => {
    const ask = open(2, 30_000);
    const [full, well] = await Promise.allSettled([ask('fill'), ask('id')]);
    expect(well.status).toBe('fulfilled');
    expect(full).toMatchObject({
      status: 'rejected',
      reason: { name: 'TooExpensive', message: 'it takes more than 32 MB of memory' },
    });
    expect(await ask('id')).toBeGreaterThan(0);
  });

  it('that throws has failed, and goes on', async () => {
    const ask = open();
    const first = await ask('id');
    await expect(ask('throw')).rejects.toThrow('not like this');
    expect(await ask('id')).toBe(first);
  });

  it('that is gone is replaced', async () => {
    const ask = open();
    await expect(ask('leave')).rejects.toThrow(/ended with code 3/);
    expect(await ask('id')).toBeGreaterThan(0);
  });

  it('that is being stopped is given to nobody', async () => {
    const ask = open();
    const first = await ask('id');
    const stopping = ends[0]?.close();
    expect(await ask('id')).not.toBe(first);
    await stopping;
  });

  it('is stopped when whoever asked goes away', async () => {
    const ask = open();
    await ask('id');
    const stop = new AbortController();
    const asked = ask('spin', stop.signal);
    stop.abort(new Error('enough'));
    await expect(asked).rejects.toThrow('enough');
    expect(await ask('id')).toBeGreaterThan(0);
  });
});
