/** Threads over a Temporal client: start, read, follow by deltas, answer, cancel, fork, delete. */
import type { Client } from '@temporalio/client';
import { PerdureError } from '../../contract/errors.js';
import {
  CANCEL_TURN,
  DELETE_THREAD,
  RENAME_THREAD,
  SEND_MESSAGE,
  SUBMIT_TOOL_RESULTS,
  TASK_QUEUE,
} from '../../contract/names.js';
import type {
  CancelTurnAnswer,
  SendAnswer,
  SendCommand,
  SubmitCommand,
  ThreadHeader,
} from '../../contract/thread-commands.js';
import { deltaSince, positionOf } from '../../contract/thread-delta.js';
import type { ThreadView } from '../../contract/thread-delta.js';
import type { AgentThreadDelta, AgentThreadRecord } from '../../contract/thread-records.js';
import { checkSendMessage, checkThreadRequest } from '../../contract/thread-request.js';
import type { SendMessageInput, ThreadRequestInput } from '../../contract/thread-request.js';
import type { Runs } from '../runs.js';
import { readToken, writeToken } from './continuation-token.js';
import { checkRuns, explainThread, readThread } from './read-thread.js';
import { startThread } from './start-thread.js';
import { createThreadStream } from './thread-stream.js';
import type { ThreadStream, ThreadStreamOptions } from './thread-stream.js';
import type { createTurnViews } from './turn-view.js';
import type { TurnReader, TurnWatches } from './turn-watch.js';

const UPDATE_DEADLINE_MS = 10_000;

export interface UpdateOptions {
  /** The same key, sent again, is the same command: it is answered as the first time and done once. */
  request_key?: string;
}

export interface ForkOptions {
  /** The last message that the fork has. */
  message_sequence_num: number;
  thread_id?: string;
  created_by?: string;
}

export interface Threads {
  start(request: ThreadRequestInput): Promise<AgentThreadRecord>;
  get(threadId: string): Promise<AgentThreadRecord>;
  /** What the record does not show: the agent, the open turn's run, what it waits for. */
  header(threadId: string): Promise<ThreadHeader>;
  /** The events of its turns, one after another, through all turns to come, until it is deleted. */
  stream(threadId: string, options?: ThreadStreamOptions): ThreadStream;
  /** Its turns, as they begin. */
  turns(threadId: string): TurnReader;
  /** What changed since the token was given. */
  delta(threadId: string, token: string): Promise<AgentThreadDelta>;
  send(threadId: string, message: SendMessageInput, options?: UpdateOptions): Promise<SendAnswer>;
  submitToolResults(threadId: string, results: SubmitCommand, options?: UpdateOptions): Promise<void>;
  /** Ends the open turn; what was said is kept. */
  cancel(threadId: string): Promise<CancelTurnAnswer>;
  /** A new private thread with the messages up to one; the source is untouched. */
  fork(threadId: string, options: ForkOptions): Promise<AgentThreadRecord>;
  rename(threadId: string, title: string): Promise<void>;
  delete(threadId: string): Promise<void>;
}

interface ThreadsOptions {
  client: Client;
  taskQueue?: string;
  /** Readers are not in the worker's process: its runs send live text by signal. */
  signalLive: boolean;
  turns: ReturnType<typeof createTurnViews>;
  watches: TurnWatches;
  streamRun: Runs['stream'];
}

export function createThreads(options: ThreadsOptions): Threads {
  const { client, taskQueue = TASK_QUEUE, signalLive, turns, watches, streamRun } = options;

  async function update<T>(threadId: string, name: string, command: object, options: UpdateOptions = {}): Promise<T> {
    try {
      return await client.withDeadline(Date.now() + UPDATE_DEADLINE_MS, () =>
        client.workflow.getHandle(threadId).executeUpdate<T, [object]>(name, {
          args: [command],
          ...(options.request_key === undefined ? {} : { updateId: options.request_key }),
        }),
      );
    } catch (error) {
      throw explainThread(error, threadId);
    } finally {
      watches.hint(threadId);
    }
  }

  /** From a message on, with what is shown of the open turn. */
  async function view(threadId: string, first: number): Promise<ThreadView & { header: ThreadHeader }> {
    const stored = await readThread(client, threadId, first);
    const { header, tail } = stored;
    const { run_id } = header.turn ?? {};
    const pending = header.pending.filter((use) => use.run_id === run_id).map((use) => use.tool_use_id);
    const turn = run_id === undefined ? undefined : turns.of(threadId, run_id);
    const shown = (await turn?.messages(pending)) ?? [];
    // A thread that the engine ended answers queries as if it would go on; where it should move, it is looked at.
    if (!header.ready || turn?.isOver() === true) await checkRuns(client, threadId);
    const from = Math.min(first, tail);
    const { status, title, goals, counter, changed } = header;
    return {
      header,
      status,
      title,
      goals,
      counter,
      changed,
      from,
      stored: tail,
      messages: [...stored.messages, ...shown],
      open: run_id !== undefined,
    };
  }

  async function get(threadId: string): Promise<AgentThreadRecord> {
    const now = await view(threadId, 0);
    const { header, status, title, goals, messages } = now;
    const continuation_token = writeToken(threadId, positionOf(now));
    return { ...header.record, title, status, messages: [...messages], goals, continuation_token };
  }

  return {
    get,
    async start(input) {
      const request = checkThreadRequest(input);
      return get(await startThread(client, taskQueue, signalLive ? { signal_live: true, ...request } : request));
    },
    header: async (threadId) => (await readThread(client, threadId, Number.MAX_SAFE_INTEGER)).header,
    stream: (threadId, wanted = {}) =>
      createThreadStream(threadId, { turns: () => watches.open(threadId), stream: streamRun }, wanted),
    turns: (threadId) => watches.open(threadId),
    async delta(threadId, token) {
      const position = readToken(threadId, token);
      const since = async (first: number) => deltaSince(await view(threadId, first), position);
      // Where only everything will do, the second look begins at the first message.
      const found = (await since(position.sent?.index ?? 0)) ?? (await since(0));
      if (found === undefined) throw new PerdureError('internal', `thread ${threadId}: no delta could be made`);
      return { continuation_token: writeToken(threadId, found.position), ...found.delta };
    },
    async send(threadId, input, options) {
      const { message, on_busy, client_tools, goals } = checkSendMessage(input);
      const command: SendCommand = {
        message,
        on_busy,
        ...(client_tools == null ? {} : { client_tools }),
        ...(goals == null ? {} : { goals }),
      };
      return update<SendAnswer>(threadId, SEND_MESSAGE, command, options);
    },
    async submitToolResults(threadId, results, options) {
      await update(threadId, SUBMIT_TOOL_RESULTS, results, options);
    },
    cancel: (threadId) => update(threadId, CANCEL_TURN, {}),
    async fork(threadId, { message_sequence_num, thread_id, created_by }) {
      const { header, messages } = await readThread(client, threadId, 0);
      const kept = messages.slice(0, message_sequence_num + 1);
      if (!Number.isInteger(message_sequence_num) || message_sequence_num < 0 || kept.length <= message_sequence_num) {
        const count = `thread ${threadId} has ${messages.length} finished messages`;
        throw new PerdureError('invalid_request', `message_sequence_num ${message_sequence_num}: ${count}`);
      }
      const { org_id, model_profile, created_by: creator } = header.record;
      const request = checkThreadRequest({
        agent_id: header.agent_id,
        ...(org_id === '' ? {} : { org_id }),
        ...((created_by ?? creator) === '' ? {} : { created_by: created_by ?? creator }),
        ...(thread_id === undefined ? {} : { thread_id }),
        ...(header.title === null ? {} : { title: header.title }),
        ...(signalLive ? { signal_live: true } : {}),
        model_profile,
        visibility: 'private',
        forked_from: { thread_id: threadId, message_sequence_num, messages: kept },
      });
      return get(await startThread(client, taskQueue, request));
    },
    async rename(threadId, title) {
      await update(threadId, RENAME_THREAD, { title });
    },
    async delete(threadId) {
      await update(threadId, DELETE_THREAD, {});
    },
  };
}
