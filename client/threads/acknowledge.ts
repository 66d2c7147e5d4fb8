/** Tells a thread that a reader has seen what its own requests did: see `contract/request-mark.ts`. */
import type { Client } from '@temporalio/client';
import { isPerdureError } from '../../contract/errors.js';
import type { StreamEvent } from '../../contract/live-events.js';
import { ACKNOWLEDGE } from '../../contract/names.js';
import { isNews, isShownBy } from '../../contract/request-mark.js';
import type { Acknowledgement } from '../../contract/request-mark.js';
import type { ThreadHeader } from '../../contract/thread-commands.js';
import { sendSignal } from '../command-signals.js';
import { explainThread } from './read-thread.js';

const DEADLINE_MS = 10_000;

export interface Acknowledge {
  /** Of one who is shown the thread as the header has it. */
  all(header: ThreadHeader, by: string | undefined): Promise<void>;
  /** Of one who is shown this event, by a header that was read before. */
  shownBy(event: StreamEvent, header: ThreadHeader, by: string): Promise<void>;
}

export function createAcknowledge(client: Client): Acknowledge {
  async function tell({ record, unseen = [] }: ThreadHeader, acknowledgement: Acknowledgement): Promise<void> {
    if (!isNews(unseen, acknowledgement)) return;
    const { thread_id } = record;
    try {
      await sendSignal<Acknowledgement>(client, thread_id, ACKNOWLEDGE, acknowledgement, DEADLINE_MS);
    } catch (error) {
      throw explainThread(error, thread_id);
    }
  }

  return {
    async all(header, by) {
      if (by === undefined) return;
      try {
        await tell(header, { by, counter: header.counter });
      } catch (error) {
        // It takes no more signals. Its messages can be read all the same; that they were, it hears later.
        if (!isPerdureError(error) || error.code !== 'rate_limited') throw error;
      }
    },
    async shownBy(event, header, by) {
      const shown = (header.unseen ?? []).filter((request) => request.by === by && isShownBy(request, event));
      await tell(header, { by, counter: Math.max(0, ...shown.map(({ counter = 0 }) => counter)) });
    },
  };
}
