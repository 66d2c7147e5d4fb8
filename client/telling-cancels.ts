/** What ends the open turn of a thread is told on the channel, so that what runs in it hears of it at once. */
import type { LiveChannel } from '../live/channel.js';
import type { Threads } from './threads/threads.js';

export function tellingCancels(threads: Threads, channel: LiveChannel): Threads {
  return {
    ...threads,
    async cancel(threadId) {
      const answer = await threads.cancel(threadId);
      channel.publishCancel(threadId);
      return answer;
    },
    async send(threadId, message, options) {
      const answer = await threads.send(threadId, message, options);
      if (message.on_busy === 'interrupt') channel.publishCancel(threadId);
      return answer;
    },
    async delete(threadId) {
      await threads.delete(threadId);
      channel.publishCancel(threadId);
    },
  };
}
