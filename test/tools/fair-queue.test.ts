import { describe, expect, it, onTestFinished, vi } from 'vitest';
import fc from 'fast-check';
import { createFairQueue } from '../../tools/fair-queue.js';

const OPTIONS = { what: 'programs', at_once: 2, per_group: 1, most_waiting: 3, wait_ms: 60_000 };
const signal = new AbortController().signal;

/** Work that is over when the test says so. */
function held() {
  let release = () => {};
  const over = new Promise<void>((resolve) => (release = resolve));
  return { work: () => over, release };
}

describe('a queue', () => {
  it('lets a group that asks for little work at once beside one that asks for much', async () => {
    const queue = createFairQueue({ ...OPTIONS, most_waiting: 100 });
    const hog = held();
    const hogged = Array.from({ length: 18 }, () => queue.run({ group: 'hog', signal }, hog.work));
    expect(await queue.run({ group: 'other', signal }, async () => 'done')).toBe('done');
    hog.release();
    await Promise.all(hogged);
  });

  it('gives no group two turns while another waits', async () => {
    const queue = createFairQueue({ ...OPTIONS, at_once: 1 });
    const first = held();
    const order: string[] = [];
    const all = [queue.run({ group: 'a', signal }, first.work)];
    for (const group of ['a', 'a', 'a', 'b', 'b', 'c']) {
      all.push(queue.run({ group, signal }, async () => void order.push(group)));
    }
    first.release();
    await Promise.all(all);
    expect(order).toEqual(['a', 'b', 'c', 'a', 'b', 'a']);
  });

  it('refuses one too many, with the wait, and says which kind of failure that is', async () => {
    const queue = createFairQueue(OPTIONS);
    const slow = held();
    const all = Array.from({ length: 4 }, () => queue.run({ group: 'a', signal }, slow.work));
    await expect(queue.run({ group: 'a', signal }, slow.work)).rejects.toMatchObject({
      kind: 'rate_limited',
      retryable: false,
      message: expect.stringMatching(
        /^The worker is busy with other programs: 3 wait already\. .* about \d+ s\.$/,
      ) as string,
    });
    slow.release();
    await Promise.all(all);
    expect(await queue.run({ group: 'a', signal }, async () => 'again')).toBe('again');
  });

  it('tells the wait by those that still work, where none has ended yet', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const queue = createFairQueue(OPTIONS);
    const slow = held();
    const all = Array.from({ length: 4 }, () => queue.run({ group: 'a', signal }, slow.work));
    await vi.advanceTimersByTimeAsync(10_000);
    await expect(queue.run({ group: 'a', signal }, slow.work)).rejects.toThrow('about 40 s.');
    slow.release();
    await Promise.all(all);
  });

  it('refuses nobody for whom there is room, also where nobody may wait', async () => {
    const queue = createFairQueue({ ...OPTIONS, most_waiting: 0 });
    expect(await queue.run({ group: 'a', signal }, async () => 'done')).toBe('done');
  });

  it('lets nobody wait for ever, nor after a cancel; both leave no trace', async () => {
    const queue = createFairQueue({ ...OPTIONS, wait_ms: 50 });
    const slow = held();
    const first = queue.run({ group: 'a', signal }, slow.work);
    await expect(queue.run({ group: 'a', signal }, slow.work)).rejects.toMatchObject({ kind: 'rate_limited' });
    const stop = new AbortController();
    const canceled = queue.run({ group: 'a', signal: stop.signal }, slow.work);
    stop.abort(new Error('enough'));
    await expect(canceled).rejects.toThrow('enough');
    await expect(queue.run({ group: 'a', signal: stop.signal }, slow.work)).rejects.toThrow('enough');
    slow.release();
    await first;
    expect(await queue.run({ group: 'a', signal }, async () => 'next')).toBe('next');
  });

  it('makes room also after work that failed', async () => {
    const queue = createFairQueue({ ...OPTIONS, at_once: 1 });
    const failing = queue.run({ group: 'a', signal }, () => Promise.reject(new Error('broken')));
    await expect(failing).rejects.toThrow('broken');
    expect(await queue.run({ group: 'b', signal }, async () => 'next')).toBe('next');
  });

  it('never lets more work than it may, and lets all work in the end', async () => {
    const groups = fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(
        groups,
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 1, max: 3 }),
        async (asks, at_once, per_group) => {
          const queue = createFairQueue({ ...OPTIONS, at_once, per_group, most_waiting: 100 });
          const working: Record<string, number> = {};
          const done = await Promise.all(
            asks.map((group) =>
              queue.run({ group, signal }, async () => {
                working[group] = (working[group] ?? 0) + 1;
                const sum = Object.values(working).reduce((one, other) => one + other, 0);
                expect(sum).toBeLessThanOrEqual(at_once);
                expect(working[group]).toBeLessThanOrEqual(per_group);
                await new Promise((resolve) => setImmediate(resolve));
                working[group] -= 1;
                return group;
              }),
            ),
          );
          expect(done).toEqual(asks);
        },
      ),
    );
  });
});
