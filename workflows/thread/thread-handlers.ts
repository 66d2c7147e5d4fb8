/** Updates, signals and queries of a thread. Registered before anything else; what they answer is already so. */
import {
  currentUpdateInfo,
  defineQuery,
  defineSignal,
  defineUpdate,
  getExternalWorkflowHandle,
  patched,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { ChildAwaitNotice } from '../../contract/awaits.js';
import {
  ACKNOWLEDGE,
  CANCEL_TURN,
  CHILD_AWAIT,
  DECIDE_APPROVAL,
  DELETE_THREAD,
  PIN_THREAD,
  READ_CONTEXT,
  READ_QUEUE,
  READ_SETTINGS,
  READ_THREAD,
  RENAME_THREAD,
  SEND_MESSAGE,
  SEND_MESSAGES,
  SUBMIT_TOOL_RESULTS,
} from '../../contract/names.js';
import { makePage } from '../../contract/pages.js';
import type { Page, PageRequest } from '../../contract/pages.js';
import type { Acknowledgement } from '../../contract/request-mark.js';
import { CHARACTER_LIMITS, oversized, SEND_BATCH_MESSAGES } from '../../contract/sizes.js';
import type {
  CancelTurnAnswer,
  DecideCommand,
  PinCommand,
  SendAnswer,
  SendBatch,
  SendBatchAnswer,
  SendCommand,
  SubmitCommand,
  ThreadPage,
  ThreadSettings,
} from '../../contract/thread-commands.js';
import { BOUNDED_TEXTS } from '../patches.js';
import { checkDecision, decide } from './answer-pauses.js';
import { setTitle } from './change-thread.js';
import { noteAwaits, refusedResults, takeResults } from './pending-tools.js';
import { refusal, refuseDeleted, refuseOversized } from './refuse-command.js';
import { cancelTurn } from './show-waiting.js';
import { checkSend, sendOfBatch, sendOnce } from './take-messages.js';
import { isTaken, note, once, unlessTaken } from './taken-commands.js';
import { headerOf, queuedMessage, settingsOf } from './thread-header.js';
import type { Thread } from './thread-state.js';
import { acknowledge } from './unseen-requests.js';

export function registerThreadHandlers(thread: Thread): void {
  const { thread_id } = thread;
  setHandler(
    defineUpdate<SendAnswer, [SendCommand]>(SEND_MESSAGE),
    (command) => once(thread, currentUpdateInfo()?.id, () => sendOnce(thread, command)),
    {
      validator: (command) =>
        unlessTaken(thread, () => {
          checkSend(thread, command);
          refuseOversized(thread, command);
        }),
      description: 'Say something: {"message": {"role": "user", "content": [{"content_type": "text", "text": "…"}]}}',
    },
  );
  setHandler(
    defineUpdate<SendBatchAnswer, [SendBatch]>(SEND_MESSAGES),
    ({ commands }) => commands.map((command) => sendOfBatch(thread, command)),
    {
      validator(batch) {
        refuseDeleted(thread);
        const commands: unknown = (batch as { commands?: unknown } | null | undefined)?.commands;
        if (!Array.isArray(commands) || commands.length === 0 || commands.length > SEND_BATCH_MESSAGES)
          throw refusal('invalid_request', `commands: must be a list of 1 to ${SEND_BATCH_MESSAGES} messages`);
      },
      description: 'Say several things, one after another: {"commands": [{"key": "…", "message": {…}}]}',
    },
  );
  setHandler(
    defineUpdate<{ thread_id: string }, [SubmitCommand]>(SUBMIT_TOOL_RESULTS),
    async (command) => {
      const isRepeated = isTaken(thread);
      if (!isRepeated) note(thread, currentUpdateInfo()?.id, null);
      if (!isRepeated) await submit(thread, command);
      return { thread_id };
    },
    {
      validator: (command) =>
        unlessTaken(thread, () => {
          refuseDeleted(thread);
          refuseOversized(thread, command);
          const why = refusedResults(thread, command);
          if (why !== undefined) throw refusal('invalid_request', `thread ${thread_id} refused the results: ${why}`);
        }),
      description: 'Results of your tools: {"tool_results": [{"tool_use_id": "…", "status": "success", "output": …}]}',
    },
  );
  setHandler(
    defineUpdate<{ thread_id: string }, [DecideCommand]>(DECIDE_APPROVAL),
    async (command) => {
      const isRepeated = isTaken(thread);
      if (!isRepeated) note(thread, currentUpdateInfo()?.id, null);
      if (!isRepeated) await decide(thread, command);
      return { thread_id };
    },
    {
      validator: (command) =>
        unlessTaken(thread, () => {
          refuseDeleted(thread);
          refuseOversized(thread, command);
          checkDecision(thread, command);
        }),
      description: 'Approve or deny a call: {"tool_use_id": "…", "decision": "approve", "digest": "…"}',
    },
  );
  setHandler(
    defineUpdate<CancelTurnAnswer, []>(CANCEL_TURN),
    () => {
      const run_id = cancelTurn(thread, { reason: 'user_requested' });
      return { thread_id, ...(run_id === undefined ? {} : { run_id }) };
    },
    { validator: () => refuseDeleted(thread), description: 'Stop the turn that is going on; the thread goes on' },
  );
  setHandler(
    defineUpdate<{ thread_id: string }, [{ title: string }]>(RENAME_THREAD),
    ({ title }) => {
      setTitle(thread, title);
      return { thread_id };
    },
    {
      validator(command) {
        refuseDeleted(thread);
        const title: unknown = (command as { title?: unknown } | undefined)?.title;
        if (typeof title !== 'string' || title.trim() === '' || title.length > CHARACTER_LIMITS.title)
          throw refusal('invalid_request', `title: must be a text of 1 to ${CHARACTER_LIMITS.title} characters`);
      },
      description: 'Give the thread another title: {"title": "…"}',
    },
  );
  setHandler(
    defineUpdate<{ thread_id: string }, []>(DELETE_THREAD),
    () => {
      thread.deleted = true;
      thread.queue = [];
      cancelTurn(thread, { reason: 'thread_deleted' });
      return { thread_id };
    },
    { description: 'End the open turn and the thread, for good' },
  );
  setHandler(
    defineUpdate<{ thread_id: string }, [PinCommand]>(PIN_THREAD),
    ({ by, pinned }) => {
      if (pinned) thread.pins[by] ??= new Date().toISOString();
      else delete thread.pins[by];
      return { thread_id };
    },
    {
      validator(command) {
        refuseDeleted(thread);
        refuseOversized(thread, command);
        const { by, pinned } = (command ?? {}) as Partial<PinCommand>;
        if (typeof by !== 'string' || typeof pinned !== 'boolean')
          throw refusal('invalid_request', 'a pin is {"by": "…", "pinned": true or false}');
      },
      description: 'A bookmark of one reader: {"by": "…", "pinned": true}',
    },
  );
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
    defineQuery<Page, [request?: PageRequest]>(READ_QUEUE),
    (request) =>
      makePage(
        thread.deleted ? 0 : thread.queue.length,
        (index) => JSON.stringify(queuedMessage(thread, index)),
        request ?? { from: 0 },
      ),
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
  setHandler(defineQuery<ThreadSettings>(READ_SETTINGS), () => settingsOf(thread), {
    description: 'What a fork takes along beside the messages',
  });
}

async function submit(thread: Thread, command: SubmitCommand): Promise<void> {
  if (Array.isArray(command.client_tools)) thread.client_tools = command.client_tools;
  for (const { run_id, answer } of takeResults(thread, command)) {
    try {
      await getExternalWorkflowHandle(run_id).signal(SUBMIT_TOOL_RESULTS, answer);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw refusal('run_ended', `run ${run_id} ended before it could be given the results: ${why}`);
    }
  }
}
