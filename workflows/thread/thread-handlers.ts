/** Signals and queries of a thread, and its commands. Registered before anything else; what they answer is already so. */
import { defineQuery, defineSignal, patched, setHandler, workflowInfo } from '@temporalio/workflow';
import type { ChildAwaitNotice } from '../../contract/awaits.js';
import {
  ACKNOWLEDGE,
  CHILD_AWAIT,
  READ_CONTEXT,
  READ_QUEUE,
  READ_SETTINGS,
  READ_THREAD,
} from '../../contract/names.js';
import { makePage } from '../../contract/pages.js';
import type { Page, PageRequest } from '../../contract/pages.js';
import type { Acknowledgement } from '../../contract/request-mark.js';
import { oversized } from '../../contract/sizes.js';
import type { QueuePage, ThreadPage, ThreadSettings } from '../../contract/thread-commands.js';
import { registerCommands } from '../commands.js';
import { BOUNDED_TEXTS } from '../patches.js';
import { noteAwaits } from './pending-tools.js';
import { threadCommands } from './thread-commands.js';
import { headerOf, queuedMessage, settingsOf } from './thread-header.js';
import type { Thread } from './thread-state.js';
import { acknowledge } from './unseen-requests.js';

export function registerThreadHandlers(thread: Thread): void {
  registerCommands(threadCommands(thread), thread.outcomes);
  setHandler(defineSignal<[Acknowledgement]>(ACKNOWLEDGE), (seen) => acknowledge(thread, seen), {
    description: 'From a reader: what it sent itself is seen, and the same words are a new message',
  });
  const takeNotice = (notice: ChildAwaitNotice) => {
    if (oversized(notice) === undefined || !patched(BOUNDED_TEXTS)) noteAwaits(thread, notice);
  };
  setHandler(defineSignal<[ChildAwaitNotice]>(CHILD_AWAIT), takeNotice, {
    description: 'From the run of a turn: it pauses for someone, or goes on',
  });
  setHandler(
    defineQuery<ThreadPage, [request?: PageRequest]>(READ_THREAD),
    (request) => ({
      ...makePage(
        thread.deleted ? 0 : thread.messages.length,
        (index) => JSON.stringify(thread.messages[index]),
        request ?? { from: 0 },
      ),
      as_of: workflowInfo().historyLength,
      header: headerOf(thread),
    }),
    { description: 'The thread, and its messages from an index on, in pages: {"from": 0}' },
  );
  setHandler(
    defineQuery<QueuePage, [request?: PageRequest]>(READ_QUEUE),
    (request) => ({
      ...makePage(
        thread.deleted ? 0 : thread.queue.length,
        (index) => JSON.stringify(queuedMessage(thread, index)),
        request ?? { from: 0 },
      ),
      as_of: workflowInfo().historyLength,
    }),
    { description: 'The messages that wait for their turn, in pages' },
  );
  setHandler(
    defineQuery<Page, [request?: PageRequest]>(READ_CONTEXT),
    (request) => {
      const { messages } = thread.context;
      return makePage(messages.length, (index) => JSON.stringify(messages[index]), request ?? { from: 0 });
    },
    { description: 'The conversation as models read it, in pages' },
  );
  setHandler(
    defineQuery<ThreadSettings>(READ_SETTINGS),
    () => ({ ...settingsOf(thread), as_of: workflowInfo().historyLength }),
    { description: 'What a fork takes along beside the messages' },
  );
}
