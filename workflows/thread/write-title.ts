/**
 * A title by a model, where the configuration wants one: beside the conversation, once, after the first answer.
 *
 * W1  No turn waits for it, and its failure changes nothing: the first message stays the title.
 * W2  A title that somebody gives meanwhile stays.
 * W3  Only a thread that was opened with a profile for it asks for the activity, so older histories never do.
 */
import { proxyActivities } from '@temporalio/workflow';
import type { OpenedThread, ThreadActivities } from '../../contract/activities.js';
import type { AgentMessage } from '../../contract/thread-records.js';
import { setTitle } from './change-thread.js';
import type { Thread } from './thread-state.js';

/** Of each text: enough to know what it is about. */
const MOST_CHARACTERS = 2_000;

/** After the turn whose user message has that index. */
export function writeTitle(thread: Thread, { title_profile }: OpenedThread, asked: number): void {
  if (title_profile === undefined || thread.title_is_draft !== true || thread.titling || thread.deleted) return;
  const [question, ...said] = thread.messages.slice(asked).map(textOf);
  const answer = said.filter((text) => text !== '').at(-1);
  // A turn that said nothing is not what the thread is about: the next one may be.
  if (question === undefined || answer === undefined) return;
  const { titleThread } = proxyActivities<ThreadActivities>({
    startToCloseTimeout: 60_000,
    heartbeatTimeout: 10_000,
    retry: { maximumAttempts: 2 },
    summary: 'a title for the thread',
  });
  const cut = (text: string) => text.slice(0, MOST_CHARACTERS);
  thread.titling = true;
  titleThread({
    thread_id: thread.thread_id,
    profile: title_profile,
    question: cut(question),
    answer: cut(answer),
  })
    .then((title) => {
      if (thread.title_is_draft === true && !thread.deleted) setTitle(thread, title);
    })
    .catch(() => {
      // What went wrong is in the history, with the activity. It is not tried again: the title would come out of the blue.
      thread.title_is_draft = false;
    })
    .finally(() => (thread.titling = false));
}

function textOf({ content }: AgentMessage): string {
  return content.map((block) => (block.content_type === 'text' ? block.text : '')).join('');
}
