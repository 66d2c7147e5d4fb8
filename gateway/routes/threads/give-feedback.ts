/** `POST /v1/ai/threads/{thread_id}/messages/{message_sequence_num}/feedback`: what a reader thinks of a message. */
import { FeedbackRecord, SubmitFeedback } from '../../../contract/feedback.js';
import { isPerdureError, PerdureError } from '../../../contract/errors.js';
import type { AgentMessage } from '../../../contract/thread-records.js';
import { data, dataOf } from '../../envelope.js';
import { userOf } from '../../principal.js';
import { readerOf } from '../../repeats.js';
import { defineThreadRoute } from '../../route.js';

export const giveFeedback = defineThreadRoute({
  operation: 'giveFeedback',
  method: 'POST',
  path: '/v1/ai/threads/{thread_id}/messages/{message_sequence_num}/feedback',
  summary: 'Says what you think of a message of the assistant; a second time, it takes the place of the first.',
  access: 'threads:write',
  use: 'read',
  body: SubmitFeedback,
  replies: { 200: { description: 'What is kept of it.', schema: dataOf(FeedbackRecord) } },
  errors: ['unknown_message'],
  async handle({ tools, principal, params, body, thread: { thread_id, owner } }) {
    // Who has something to say about a message has read it.
    const { messages } = await tools.threads.get(thread_id, { reader: readerOf(principal) });
    const n = checkMessage(messages, thread_id, params['message_sequence_num'] ?? '');
    const about = { org_id: owner.org_id, thread_id, message_sequence_num: n };
    const record = await tools.records.feedback.put({ ...about, user_id: userOf(principal) }, body);
    // Deletion wins, also over what was on its way: it may have come between the look and the write.
    await tools.threads.header(thread_id).catch(async (error: unknown) => {
      if (isPerdureError(error) && error.code === 'unknown_thread') await tools.records.feedback.forget(thread_id);
      throw error;
    });
    return data(record);
  },
});

function checkMessage(messages: readonly AgentMessage[], threadId: string, number: string): number {
  const n = /^\d{1,9}$/.test(number) ? Number(number) : -1;
  const message = messages[n];
  if (message === undefined) {
    throw new PerdureError('unknown_message', `thread ${threadId} has no message ${number}: it has ${messages.length}`);
  }
  const what = `message ${n} of thread ${threadId}`;
  if (message.role !== 'assistant') {
    throw new PerdureError(
      'invalid_request',
      `${what} is of the role "${message.role}": feedback is for the assistant’s`,
    );
  }
  if (message.status === 'generating' || message.status === 'not_started') {
    throw new PerdureError('invalid_request', `${what} is still being written: wait until it is there`);
  }
  return n;
}
