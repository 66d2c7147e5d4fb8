/** What a chat needs of threads, over Temporal or through a gateway. */
import type { ThreadEvent, Threads } from '../../client/index.js';
import type { SendAnswer } from '../../contract/thread-commands.js';
import type { AgentThreadRecord } from '../../contract/thread-records.js';
import type { SendMessageInput, ThreadRequestInput } from '../../contract/thread-request.js';
import { threadState } from '../../contract/thread-summary.js';
import type { ThreadState } from '../../contract/thread-summary.js';

type ThreadStart = Pick<ThreadRequestInput, 'model_profile'> & { agent_id?: string };

export interface ChatThreads {
  /** Without an agent, with the one that a gateway takes for it. */
  start(request: ThreadStart): Promise<Pick<AgentThreadRecord, 'thread_id'>>;
  state(threadId: string): Promise<ThreadState>;
  get(threadId: string): Promise<Pick<AgentThreadRecord, 'messages'>>;
  stream(threadId: string, options: { from: number; signal: AbortSignal }): AsyncIterable<ThreadEvent>;
  send(threadId: string, message: SendMessageInput, options: { request_key: string }): Promise<SendAnswer>;
  cancel(threadId: string): Promise<unknown>;
  fork(threadId: string, options: { message_sequence_num: number }): Promise<Pick<AgentThreadRecord, 'thread_id'>>;
  rename(threadId: string, title: string): Promise<void>;
  delete(threadId: string): Promise<void>;
}

/** Over Temporal what a gateway gives. */
export function chatThreads(threads: Threads): ChatThreads {
  return { ...threads, state: async (threadId) => threadState(await threads.header(threadId)) };
}
