/** A model whose every word is the time at which it was made, by a clock that all processes of a machine share. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ModelProvider } from '../../contract/model-provider.js';

/** In milliseconds. */
export const sharedClock = () => Number(process.hrtime.bigint() / 1_000n) / 1_000;

/** Asked for `{"words":N,"every_ms":M}`, it says so many. */
export const clockModel: ModelProvider = {
  name: 'clock',
  async *stream({ messages }, signal) {
    const asked = messages.find(({ role }) => role === 'user')?.content;
    const { words, every_ms } = JSON.parse(String(asked)) as { words: number; every_ms: number };
    for (let n = 0; n < words && !signal.aborted; n++) {
      yield { type: 'text', delta: `${sharedClock().toFixed(3)} ` };
      await sleep(every_ms);
    }
    yield { type: 'finish', stop_reason: 'end_turn', usage: null };
  },
};
