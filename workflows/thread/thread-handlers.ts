/** Updates, signals and queries of a thread. Registered before anything else; what they answer is already so. */
import {
  ApplicationFailure,
  currentUpdateInfo,
  defineQuery,
  defineSignal,
  defineUpdate,
  getExternalWorkflowHandle,
  setHandler,
} from '@temporalio/workflow';
import type { ChildAwaitNotice } from '../../contract/awaits.js';
import type { ErrorCode } from '../../contract/errors.js';
import {
  ACKNOWLEDGE,
  CANCEL_TURN,
  CHILD_AWAIT,
  DELETE_THREAD,
  PIN_THREAD,
  READ_CONTEXT,
  READ_SETTINGS,
  READ_THREAD,
  RENAME_THREAD,
  SEND_MESSAGE,
  SUBMIT_TOOL_RESULTS,
} from '../../contract/names.js';
import { makePage } from '../../contract/pages.js';
import type { Page, PageRequest } from '../../contract/pages.js';
import type { Acknowledgement } from '../../contract/request-mark.js';
import type { Cancellation } from '../../contract/run.js';
import { malformedSend } from '../../contract/thread-commands.js';
import type {
  CancelTurnAnswer,
  PinCommand,
  SendAnswer,
  SendCommand,
  SubmitCommand,
  ThreadPage,
  ThreadSettings,
} from '../../contract/thread-commands.js';
import { beginTurn, setTitle } from './change-thread.js';
import { noteAwaits, refusedResults, takeResults } from './pending-tools.js';
import { headerOf, settingsOf } from './thread-header.js';
import type { Thread } from './thread-state.js';
import { acknowledge, answerBefore, noteUnseen } from './unseen-requests.js';

const MOST_TITLE_CHARACTERS = 200;

export function registerThreadHandlers(thread: Thread): void {
  const { thread_id } = thread;
  setHandler(
    defineUpdate<SendAnswer, [SendCommand]>(SEND_MESSAGE),
    (command) => once(thread, () => sendOnce(thread, command)) as SendAnswer,
    {
      validator: (command) => unlessTaken(thread, () => checkSend(thread, command)),
      description: 'Say something: {"message": {"role": "user", "content": [{"content_type": "text", "text": "…"}]}}',
    },
  );
  setHandler(
    defineUpdate<{ thread_id: string }, [SubmitCommand]>(SUBMIT_TOOL_RESULTS),
    async (command) => {
      const isRepeated = isTaken(thread);
      if (!isRepeated) note(thread, null);
      if (!isRepeated) await submit(thread, command);
      return { thread_id };
    },
    {
      validator: (command) =>
        unlessTaken(thread, () => {
          refuseDeleted(thread);
          const why = refusedResults(thread, command);
          if (why !== undefined) throw refusal('invalid_request', `thread ${thread_id} refused the results: ${why}`);
        }),
      description: 'Results of your tools: {"tool_results": [{"tool_use_id": "…", "status": "success", "output": …}]}',
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
        if (typeof title !== 'string' || title.trim() === '' || title.length > MOST_TITLE_CHARACTERS)
          throw refusal('invalid_request', `title: must be a text of 1 to ${MOST_TITLE_CHARACTERS} characters`);
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
  setHandler(defineSignal<[ChildAwaitNotice]>(CHILD_AWAIT), (notice) => noteAwaits(thread, notice), {
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
      header: headerOf(thread),
    }),
    { description: 'The thread, and its messages from an index on, in pages: {"from": 0}' },
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

/** The first reason stands. The run of the turn, if there is one. */
export function cancelTurn(thread: Thread, cancellation: Cancellation): string | undefined {
  if (thread.turn === undefined) return undefined;
  thread.turn.cancellation ??= cancellation;
  return thread.turn.run_id;
}

function sendOnce(thread: Thread, command: SendCommand): SendAnswer {
  const { mark } = command;
  const before = answerBefore(thread, mark);
  if (before !== undefined) return before;
  const answer = { ...send(thread, command), ...(mark === undefined ? {} : { digest: mark.digest }) };
  noteUnseen(thread, mark, answer);
  return answer;
}

function send(thread: Thread, command: SendCommand): SendAnswer {
  const { thread_id } = thread;
  const { message, client_tools, goals, client_context, analysis_scope, on_busy, mark } = command;
  const said = {
    message,
    ...(client_tools === undefined ? {} : { client_tools }),
    ...(client_context === undefined ? {} : { client_context }),
    ...(analysis_scope === undefined ? {} : { analysis_scope }),
    ...(mark === undefined ? {} : { mark }),
    ...(goals === undefined ? {} : { goals: goals.map((goal) => ({ ...goal, goal_data: goal.goal_data ?? {} })) }),
  };
  if (isBusy(thread)) {
    if (on_busy === 'interrupt') {
      cancelTurn(thread, { reason: 'user_requested', note: 'interrupted by the next message' });
      thread.queue.unshift(said);
      return { thread_id, state: 'queued', ahead: 0 };
    }
    thread.queue.push(said);
    return { thread_id, state: 'queued', ahead: thread.queue.length - 1 };
  }
  const { run_id, message_sequence_num } = beginTurn(thread, said);
  return { thread_id, state: 'started', message_sequence_num, run_id };
}

/** Before its request was validated a thread has no agent to ask. */
function isBusy(thread: Thread): boolean {
  return thread.turn !== undefined || thread.queue.length > 0 || thread.opened === undefined;
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

function checkSend(thread: Thread, command: unknown): void {
  refuseDeleted(thread);
  const why = malformedSend(command);
  if (why !== undefined) throw refusal('invalid_request', `thread ${thread.thread_id} refused the message: ${why}`);
  const { on_busy = 'reject', mark } = command as SendCommand;
  if (on_busy !== 'reject' || !isBusy(thread) || answerBefore(thread, mark) !== undefined) return;
  const doing = thread.turn === undefined ? 'is about to answer' : `is at ${thread.turn.run_id} (${thread.status})`;
  throw refusal('thread_busy', `thread ${thread.thread_id} ${doing}, so it takes no message now`);
}

function refuseDeleted(thread: Thread): void {
  if (thread.deleted) throw refusal('unknown_thread', `thread ${thread.thread_id} was deleted`);
}

function refusal(code: ErrorCode, message: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(message, code);
}

/** The same update, sent again after continue-as-new, is not a second message. */
function once(thread: Thread, effect: () => SendAnswer): SendAnswer | null {
  const id = currentUpdateInfo()?.id;
  const known = thread.taken.find(([taken]) => taken === id);
  if (known !== undefined) return known[1];
  const answer = effect();
  note(thread, answer);
  return answer;
}

function note(thread: Thread, answer: SendAnswer | null): void {
  const id = currentUpdateInfo()?.id;
  if (id !== undefined) thread.taken.push([id, answer]);
}

function isTaken(thread: Thread): boolean {
  const id = currentUpdateInfo()?.id;
  return thread.taken.some(([taken]) => taken === id);
}

function unlessTaken(thread: Thread, check: () => void): void {
  if (!isTaken(thread)) check();
}
