/** What the channel inside a process keeps. What every channel does is in channels.test.ts. */
import { describe, expect, it } from 'vitest';
import type { LiveEvent } from '../../contract/live-events.js';
import type { LiveChannel } from '../../live/channel.js';
import { createMemoryChannel } from '../../live/memory-channel.js';
import { live, writtenLog } from '../contract/written-log.js';

describe('the text that a channel keeps', () => {
  const piece = (runId: string, index: number, text: string) => ({
    ...live({ type: 'text_chunk', block_id: 'step_1.block_1', attempt: 1, index, offset: index * text.length, text }),
    run_id: runId,
  });
  const joined = (channel: LiveChannel, runId: string) => {
    const seen: LiveEvent[] = [];
    channel.subscribe(runId, { live: (events) => seen.push(...events), committed() {} })();
    return seen.map((event) => ('text' in event ? event.text : '')).join('');
  };

  it('is bounded in all: the runs that were heard of first are forgotten first', () => {
    const channel = createMemoryChannel(10_000);
    for (let n = 0; n < 30; n++) channel.publishLive(`run_${n}`, [piece(`run_${n}`, 0, 'x'.repeat(1_000))]);
    const kept = Array.from({ length: 30 }, (_, n) => joined(channel, `run_${n}`).length);
    expect(kept.reduce((sum, length) => sum + length, 0)).toBeLessThanOrEqual(10_000);
    expect(kept.slice(0, 20).every((length) => length === 0)).toBe(true);
    expect(kept.slice(20).every((length) => length === 1_000)).toBe(true);
  });

  it('is free again when its block is closed, and a run that was forgotten has no hole in its text', () => {
    const channel = createMemoryChannel(10_000);
    const [closing] = writtenLog([
      { type: 'text_end', step_id: 'step_1', block_id: 'step_1.block_1', attempt: 1, text: 'x'.repeat(5_000) },
    ]);
    for (let round = 0; round < 5; round++) {
      channel.publishLive(`run_${round}`, [piece(`run_${round}`, 0, 'x'.repeat(5_000))]);
      channel.publishCommitted(`run_${round}`, [{ seq: 0, text: '', event: closing! }]);
    }
    channel.publishLive('old', [piece('old', 0, 'x'.repeat(6_000))]);
    channel.publishLive('new', [piece('new', 0, 'x'.repeat(6_000))]);
    channel.publishLive('old', [piece('old', 1, 'x'.repeat(6_000))]);
    expect(joined(channel, 'old')).toBe('');
    expect(joined(channel, 'new')).toBe('x'.repeat(6_000));
  });
});
