/** A thread is told what its reader is about to read: in which order, and how often it is asked. */
import { expect, it } from 'vitest';
import type { Threads } from '../../../client/index.js';
import type { StreamEvent } from '../../../contract/live-events.js';
import type { ThreadHeader } from '../../../contract/thread-commands.js';
import { createAcknowledgeTold } from '../../../gateway/stream/acknowledge-told.js';

const event = (type: string) => ({ type, run_id: 'thr_1/turn_1' }) as StreamEvent;

function watched(fails = false) {
  const done: string[] = [];
  const failures: unknown[] = [];
  let reads = 0;
  const threads = {
    async header() {
      if (fails) throw new Error('nobody answers');
      return Promise.resolve({ counter: ++reads } as ThreadHeader);
    },
    async acknowledge({ type }: StreamEvent, { counter }: ThreadHeader, by: string) {
      await Promise.resolve();
      done.push(`${type} to ${by}, as of ${counter}`);
    },
  } as unknown as Threads;
  const onFailure = (error: unknown) => failures.push(error);
  const options = { threads, threadId: 'thr_1', reader: 'ann', count: 3, onFailure };
  return { tell: createAcknowledgeTold(options), done, failures };
}

it('it is told before the event goes out, by what was so then; of what was long over it is asked once', async () => {
  const { tell, done } = watched();
  for (const turn of [1, 2, 3, 4]) await tell(turn, event('run_completed'));
  await tell(4, event('text_chunk'));
  await tell(4, event('await_resolved'));
  expect(done).toEqual([
    'run_completed to ann, as of 1',
    'run_completed to ann, as of 1',
    'run_completed to ann, as of 2',
    'run_completed to ann, as of 3',
    'await_resolved to ann, as of 4',
  ]);
});

it('a thread that cannot be told does not cut the stream, and whoever keeps it hears of it', async () => {
  const { tell, done, failures } = watched(true);
  await tell(1, event('run_completed'));
  await tell(3, event('run_completed'));
  expect(done).toEqual([]);
  expect(failures).toHaveLength(2);
});
