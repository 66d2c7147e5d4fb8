/** What is said to a thread: a message begins a turn, waits for one, interrupts one, or answers what one asks. */
import { ApplicationFailure, patched } from '@temporalio/workflow';
import { bytesOf, oversized, QUEUED_MESSAGES } from '../../contract/sizes.js';
import { statusInWords } from '../../contract/thread-status.js';
import { malformedSend } from '../../contract/thread-commands.js';
import type { OpenPause, SendAnswer, SendBatchAnswer, SendCommand } from '../../contract/thread-commands.js';
import { BOUNDED_TEXTS } from '../patches.js';
import { answerQuestion, checkAnswer, questionFor } from './answer-pauses.js';
import { beginTurn } from './change-thread.js';
import { checkTools } from './client-tools.js';
import { refusal, refuseDeleted, refuseOversized } from './refuse-command.js';
import { cancelTurn } from './show-waiting.js';
import { answeredBefore, once } from './taken-commands.js';
import { checkRoom, isBounded } from './thread-room.js';
import type { Said, Thread } from './thread-state.js';
import { answerBefore, noteUnseen } from './unseen-requests.js';

function inBatch(given: unknown): { id: string | undefined; command: SendCommand } {
  const { key, ...command } = (typeof given === 'object' && given !== null ? given : {}) as SendCommand & {
    key?: unknown;
  };
  return { id: typeof key === 'string' ? key : undefined, command };
}

/** Throws where there is room for none of a batch: one that is taken is in the history, with all that it refuses. */
export function refuseWhereFull(thread: Thread, batch: readonly unknown[]): void {
  const refusals = batch.map((given) => {
    const { id, command } = inBatch(given);
    if (answeredBefore(thread, id) !== undefined) return undefined;
    try {
      checkSend(thread, command);
      checkRoom(thread, command);
      return undefined;
    } catch (error) {
      const isFull = error instanceof ApplicationFailure && /^(rate_limited|thread_full)$/.test(error.type ?? '');
      return isFull ? error : undefined;
    }
  });
  const [first] = refusals;
  if (first !== undefined && !refusals.includes(undefined)) throw first;
}

/** What is wrong with one message of a batch is told to its sender, and the others are taken. */
export function sendOfBatch(thread: Thread, given: unknown): SendBatchAnswer[number] {
  const { id, command } = inBatch(given);
  const known = answeredBefore(thread, id);
  if (known !== undefined) return known;
  try {
    if (oversized(given) !== undefined && patched(BOUNDED_TEXTS)) refuseOversized(thread, given);
    checkSend(thread, command);
    if (isBounded(thread)) checkRoom(thread, command);
  } catch (error) {
    if (!(error instanceof ApplicationFailure)) throw error;
    return { code: error.type ?? 'invalid_request', message: error.message };
  }
  return once(thread, id, () => sendOnce(thread, command));
}

export function sendOnce(thread: Thread, command: SendCommand): SendAnswer {
  const { mark } = command;
  const before = answerBefore(thread, mark);
  if (before !== undefined) return before;
  const question = questionFor(thread, command);
  const answer = { ...send(thread, command, question), ...(mark === undefined ? {} : { digest: mark.digest }) };
  noteUnseen(thread, mark, answer, question);
  return answer;
}

function send(thread: Thread, command: SendCommand, question: OpenPause | undefined): SendAnswer {
  const { thread_id } = thread;
  const { message, client_tools, goals, client_context, analysis_scope, on_busy, mark } = command;
  const said: Said = {
    message,
    at: new Date().toISOString(),
    ...(client_tools === undefined ? {} : { client_tools }),
    ...(client_context === undefined ? {} : { client_context }),
    ...(analysis_scope === undefined ? {} : { analysis_scope }),
    ...(mark === undefined ? {} : { mark }),
    ...(goals === undefined ? {} : { goals: goals.map((goal) => ({ ...goal, goal_data: goal.goal_data ?? {} })) }),
  };
  if (question !== undefined && thread.turn !== undefined) {
    const { by, answered_by } = command;
    const whose = { ...(by === undefined ? {} : { by }), ...(answered_by === undefined ? {} : { answered_by }) };
    return answerQuestion(thread, thread.turn, question, said, whose);
  }
  if (isBusy(thread)) {
    said.bytes = bytesOf(said);
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

export function checkSend(thread: Thread, command: unknown): void {
  refuseDeleted(thread);
  const why = malformedSend(command);
  if (why !== undefined) throw refusal('invalid_request', `thread ${thread.thread_id} refused the message: ${why}`);
  const { on_busy = 'reject', mark } = command as SendCommand;
  if (answerBefore(thread, mark) !== undefined) return;
  checkTools(thread, command);
  const question = questionFor(thread, command as SendCommand);
  if (question !== undefined) return checkAnswer(thread, question, command as SendCommand);
  if (thread.queue.length >= (thread.opened?.runtime.queued_messages ?? QUEUED_MESSAGES))
    throw refusal('rate_limited', `${thread.queue.length} messages wait for their turn in thread ${thread.thread_id}`);
  if (on_busy !== 'reject' || !isBusy(thread)) return;
  const waits = thread.pauses.find(({ kind, held }) => kind === 'approval' && held !== true)?.asked;
  const doing =
    thread.turn === undefined
      ? 'is about to answer'
      : waits === undefined
        ? `is at ${thread.turn.run_id} (${statusInWords(thread)})`
        : `waits for a decision about ${waits.tool_use_id}: approve it or deny it, or cancel the turn`;
  throw refusal('thread_busy', `thread ${thread.thread_id} ${doing}, so it takes no message now`);
}
