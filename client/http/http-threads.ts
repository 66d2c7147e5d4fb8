/** Threads through a gateway: the calls of `perdure/client`, of the same shapes where the gateway has them. */
import type { DecideCommand, SendAnswer, SubmitCommand } from '../../contract/thread-commands.js';
import type { AgentThreadDelta, AgentThreadRecord } from '../../contract/thread-records.js';
import type { SendMessageInput, ThreadRequestInput } from '../../contract/thread-request.js';
import type { ThreadState, ThreadSummaryPage } from '../../contract/thread-summary.js';
import type { GatewayCalls } from './gateway-calls.js';
import type { HttpStreamContext } from './http-stream.js';
import { openHttpThreadStream } from './http-thread-stream.js';
import type { HttpThreadStream, HttpThreadStreamOptions } from './http-thread-stream.js';

export interface ThreadFilter {
  agent_id?: string;
  created_by?: string;
  /** ISO 8601. */
  created_after?: string;
  created_before?: string;
  limit?: number;
  /** `next_cursor` of the page before. */
  cursor?: string;
}

/** Without an agent it talks with the first one of the gateway's configuration. */
export type ThreadStart = Omit<ThreadRequestInput, 'agent_id' | OfTheGateway> & { agent_id?: string };
/** Who starts a thread over HTTP does not say these: the gateway knows them, or has no place for them. */
type OfTheGateway =
  'org_id' | 'created_by' | 'roles' | 'created_from_agent_id' | 'forked_from' | 'mark' | 'signal_live';

export interface KeyOptions {
  /** The same key, sent again, is the same request: it is answered as the first time and done once. */
  request_key?: string;
}

export interface HttpThreads {
  /** Newest first; a page may hold fewer than asked for. */
  list(filter?: ThreadFilter): Promise<ThreadSummaryPage>;
  /** Whose turn it is, and which run is at it: without messages. */
  state(threadId: string): Promise<ThreadState>;
  start(request: ThreadStart, options?: KeyOptions): Promise<AgentThreadRecord>;
  get(threadId: string): Promise<AgentThreadRecord>;
  /** What changed since the token was given; `applyDelta` of `perdure/contract` applies it. */
  delta(threadId: string, token: string): Promise<AgentThreadDelta>;
  /** The events of its turns, one after another, over broken connections, until it is deleted. */
  stream(threadId: string, options?: HttpThreadStreamOptions): HttpThreadStream;
  send(threadId: string, message: SendMessageInput, options?: KeyOptions): Promise<SendAnswer>;
  submitToolResults(threadId: string, results: Omit<SubmitCommand, 'by'>): Promise<void>;
  /** Approves a call that the open turn wants to make, or denies it: `asks` of the text that asks has its ids. */
  decideApproval(threadId: string, decision: Omit<DecideCommand, 'by'>): Promise<void>;
  /** Ends the open turn, if there is one; what was said is kept. */
  cancel(threadId: string): Promise<{ thread_id: string; run_id?: string }>;
  /** A new private thread with the messages up to one; the source is untouched. */
  fork(threadId: string, options: { message_sequence_num: number } & KeyOptions): Promise<AgentThreadRecord>;
  rename(threadId: string, title: string): Promise<void>;
  delete(threadId: string): Promise<void>;
}

export function createHttpThreads(calls: GatewayCalls, context: Omit<HttpStreamContext, 'calls'>): HttpThreads {
  const pathOf = (threadId: string, rest = '') => `/v1/ai/threads/${encodeURIComponent(threadId)}${rest}`;
  // Without a key, the same request of the same caller within minutes would be taken for a repeat.
  const keyed = (key = randomKey()) => ({ 'idempotency-key': key });
  const data = async <T>(answer: Promise<{ data: T }>) => (await answer).data;

  return {
    list: (filter = {}) => calls.get('/v1/threads', { ...filter }),
    state: (threadId) => calls.get(`/v1/threads/${encodeURIComponent(threadId)}`),
    start: (request, { request_key } = {}) => data(calls.post('/v1/ai/threads', request, keyed(request_key))),
    get: (threadId) => data(calls.get(pathOf(threadId))),
    delta: (threadId, token) => data(calls.get(pathOf(threadId, '/delta'), { next_token: token })),
    stream: (threadId, options) => openHttpThreadStream({ ...context, calls }, threadId, options),
    send: (threadId, message, { request_key } = {}) =>
      data(calls.post(pathOf(threadId, '/messages'), message, keyed(request_key))),
    async submitToolResults(threadId, results) {
      await calls.post(pathOf(threadId, '/tool-results'), results);
    },
    async decideApproval(threadId, decision) {
      await calls.post(pathOf(threadId, '/approvals'), decision);
    },
    cancel: (threadId) => data(calls.post(pathOf(threadId, '/cancel'), {})),
    fork: (threadId, { request_key, message_sequence_num }) =>
      data(calls.post(pathOf(threadId, '/fork'), { message_sequence_num }, keyed(request_key))),
    async rename(threadId, title) {
      await calls.put(pathOf(threadId), { title });
    },
    async delete(threadId) {
      await calls.delete(pathOf(threadId));
    },
  };
}

/** `crypto.randomUUID` is there only for pages over https. */
function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
