/**
 * Who follows the stream of a thread reads there what became of its own messages, as others do in deltas: then the same
 * words are a new message.
 *
 * A1  The thread is told before the event goes out, by what it knew before that: whoever answers what it reads finds that
 *     it was read.
 * A2  Only the ends of pauses and turns are looked at. Of the turns that were there before the last one when the stream
 *     began, the thread is asked once for all.
 */
import type { Threads } from '../../client/index.js';
import type { StreamEvent } from '../../contract/live-events.js';
import type { ThreadHeader } from '../../contract/thread-commands.js';

interface AcknowledgeOptions {
  threads: Threads;
  threadId: string;
  /** Who reads. */
  reader: string;
  /** How many turns there were when the stream began. */
  count: number;
  /** It could not be told: the stream goes on all the same. */
  onFailure: (error: unknown) => void;
}

export type AcknowledgeTold = (turn: number, event: StreamEvent) => Promise<void>;

const ENDS: readonly StreamEvent['type'][] = ['await_resolved', 'child_await_changed', 'run_completed', 'stream_ended'];

export function createAcknowledgeTold(options: AcknowledgeOptions): AcknowledgeTold {
  const { threads, threadId, reader, count, onFailure } = options;
  let before: ThreadHeader | undefined;
  return async (turn, event) => {
    if (!ENDS.includes(event.type)) return;
    try {
      const header = turn < count && before !== undefined ? before : await threads.header(threadId);
      if (turn < count) before = header;
      await threads.acknowledge(event, header, reader);
    } catch (error) {
      onFailure(error);
    }
  };
}
