/**
 * Messages to a thread. While one is on its way, those that come after it wait, and then go together: as many as there
 * are cost as little as one, and they arrive in the order in which they were sent.
 *
 * Q1  Each message has a key, the sender's or one of our own: however often it is sent, it is taken once.
 * Q2  Each sender hears what became of its own message.
 */
import { createHash, randomUUID } from 'node:crypto';
import { PerdureError } from '../../contract/errors.js';
import { SEND_MESSAGE, SEND_MESSAGES } from '../../contract/names.js';
import { QUEUED_PART, SEND_BATCH_CHARS, SEND_BATCH_MESSAGES, THREAD_BYTES } from '../../contract/sizes.js';
import type { SendAnswer, SendBatchAnswer, SendCommand } from '../../contract/thread-commands.js';
import type { Updates } from '../updates.js';
import { explainThread, refused } from './read-thread.js';

const DEADLINE_MS = 10_000;
const MOST_WAITING = 1_000;

export type SendMessage = (threadId: string, command: SendCommand, key: string | undefined) => Promise<SendAnswer>;

interface Item {
  command: SendCommand & { key: string };
  chars: number;
  resolve: (answer: SendAnswer) => void;
  reject: (error: unknown) => void;
}

export function createSendQueue(updates: Updates, mostWaiting = MOST_WAITING): SendMessage {
  const queues = new Map<string, Item[]>();

  async function pump(threadId: string, waiting: Item[]): Promise<void> {
    while (waiting.length > 0) {
      const batch = takeBatch(waiting);
      try {
        const answers = await send(updates, threadId, batch);
        for (const [n, item] of batch.entries()) settle(item, answers[n]);
      } catch (error) {
        for (const item of batch) item.reject(error);
      }
    }
    queues.delete(threadId);
  }

  return (threadId, command, key = randomUUID()) =>
    new Promise((resolve, reject) => {
      const item = { command: { ...command, key }, chars: JSON.stringify(command).length, resolve, reject };
      const waiting = queues.get(threadId);
      if (waiting === undefined) {
        const queue = [item];
        queues.set(threadId, queue);
        void pump(threadId, queue);
      } else if (waiting.length >= mostWaiting || charsOf(waiting) + item.chars > QUEUED_PART * THREAD_BYTES) {
        const what = `${waiting.length} messages of ${charsOf(waiting)} characters wait to be taken by thread ${threadId}`;
        reject(new PerdureError('rate_limited', what, { retry_after_ms: 2_000 }));
      } else waiting.push(item);
    });
}

function charsOf(waiting: readonly Item[]): number {
  return waiting.reduce((sum, { chars }) => sum + chars, 0);
}

function takeBatch(waiting: Item[]): Item[] {
  let chars = 0;
  const end = waiting.findIndex((item, n) => {
    chars += item.chars;
    return n > 0 && (n >= SEND_BATCH_MESSAGES || chars > SEND_BATCH_CHARS);
  });
  return waiting.splice(0, end === -1 ? waiting.length : end);
}

async function send(updates: Updates, threadId: string, batch: readonly Item[]): Promise<SendBatchAnswer> {
  const [first] = batch;
  if (first !== undefined && batch.length === 1) return [await sendOne(updates, threadId, first)];
  try {
    return await sendTogether(updates, threadId, batch);
  } catch (error) {
    const { cause } = error as { cause?: { message?: unknown } };
    if (!/did not register a handler/i.test(String(cause?.message))) throw error;
    // A worker of an earlier release takes one at a time.
    const answers: SendBatchAnswer = [];
    for (const item of batch) {
      answers.push(
        await sendOne(updates, threadId, item).catch((refusal: unknown) => {
          const why = explainThread(refusal, threadId);
          return { code: String((why as { code?: unknown }).code), message: why.message };
        }),
      );
    }
    return answers;
  }
}

function sendOne(updates: Updates, threadId: string, { command: { key, ...command } }: Item): Promise<SendAnswer> {
  return updates.execute<SendAnswer>(threadId, SEND_MESSAGE, command, { deadlineMs: DEADLINE_MS, updateId: key });
}

function sendTogether(updates: Updates, threadId: string, batch: readonly Item[]): Promise<SendBatchAnswer> {
  const commands = batch.map(({ command }) => command);
  const keys = createHash('sha256').update(JSON.stringify(commands.map(({ key }) => key)));
  const options = { deadlineMs: DEADLINE_MS, updateId: `batch_${keys.digest('hex').slice(0, 40)}` };
  return updates.execute<SendBatchAnswer>(threadId, SEND_MESSAGES, { commands }, options);
}

function settle({ resolve, reject }: Item, answer: SendBatchAnswer[number] | undefined): void {
  if (answer !== undefined && 'state' in answer) resolve(answer);
  else if (answer === undefined)
    reject(new PerdureError('internal', 'the thread gave no answer to a message of a batch'));
  else reject(refused(answer.code, answer.message));
}
