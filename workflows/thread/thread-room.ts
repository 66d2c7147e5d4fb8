/**
 * How much one thread holds. All of it is in the memory of whichever worker has the thread, is read whole by whoever
 * opens it, and goes along when it continues as new; so it has bounds, whoever fills it.
 *
 * R1  A message that finds no room is refused, with the sizes, and nothing of it is kept.
 * R2  One that waited while others filled the thread is kept, and an error stands in the place of its answer.
 */
import { safeMessage } from '../../contract/errors.js';
import { bytesOf, QUEUED_PART, THREAD_BYTES } from '../../contract/sizes.js';
import type { SendCommand } from '../../contract/thread-commands.js';
import type { AgentErrorContent } from '../../contract/thread-records.js';
import { isSince2 } from '../patches.js';
import { questionFor } from './answer-pauses.js';
import { addMessage, addSpoken, setStatus } from './change-thread.js';
import { refusal } from './refuse-command.js';
import type { Said, Thread } from './thread-state.js';
import { answerBefore, showUnseen } from './unseen-requests.js';

/** Of those that wait for their turn. */
function queuedBytes({ queue }: Thread): number {
  return queue.reduce((sum, said) => sum + (said.bytes ?? bytesOf(said)), 0);
}

function mostBytes({ opened }: Thread): number {
  return opened?.runtime.max_bytes ?? THREAD_BYTES;
}

/** Throws where there is no room for it. What it repeats is there already, and an answer is its run's. */
export function checkRoom(thread: Thread, command: SendCommand): void {
  if (answerBefore(thread, command.mark) !== undefined || questionFor(thread, command) !== undefined) return;
  const bytes = bytesOf(command);
  const queued = queuedBytes(thread);
  const { thread_id, held_bytes } = thread;
  const most = mostBytes(thread);
  if (held_bytes + queued + bytes > most)
    throw refusal(
      'thread_full',
      `thread ${thread_id} holds ${held_bytes + queued} bytes, and at most ${most} fit: there is no room for ${bytes} more`,
    );
  if (thread.queue.length > 0 && queued + bytes > QUEUED_PART * most)
    throw refusal(
      'rate_limited',
      `${thread.queue.length} messages of ${queued} bytes wait for their turn in thread ${thread_id}, and at most ${QUEUED_PART * most} fit: there is no room for ${bytes} more`,
    );
}

/** Those that began before there were bounds go on without, until they continue as new. */
export function isBounded({ opened }: Thread): boolean {
  return isSince2(opened?.revision);
}

export function isFull(thread: Thread): boolean {
  return isBounded(thread) && thread.held_bytes > mostBytes(thread);
}

/** Where it is full: what was said is kept, and answered by an error. */
export function refuseQueued(thread: Thread, { message, mark }: Said): void {
  addSpoken(thread, message);
  showUnseen(thread, mark);
  const error: AgentErrorContent = {
    content_type: 'error',
    error_message: safeMessage('thread_full'),
    error_code: 'thread_full',
  };
  addMessage(thread, { role: 'assistant', content: [error], status: 'failed', created: new Date().toISOString() });
  if (thread.queue.length === 0) setStatus(thread, 'user_turn');
}
