/** Threads over a Temporal client: start, read, list, follow by deltas, answer, cancel, fork, delete. */
import type { Client } from '@temporalio/client';
import type { ArtefactStore } from '../../contract/artefacts.js';
import { checkSizes } from '../../contract/check-sizes.js';
import { PerdureError } from '../../contract/errors.js';
import {
  CANCEL_TURN,
  DECIDE_APPROVAL,
  DELETE_THREAD,
  PIN_THREAD,
  RENAME_THREAD,
  SUBMIT_TOOL_RESULTS,
  TASK_QUEUE,
} from '../../contract/names.js';
import type { RequestMark } from '../../contract/request-mark.js';
import type {
  CancelTurnAnswer,
  DecideCommand,
  PinCommand,
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
import type { Updates } from '../updates.js';
import { createAcknowledge } from './acknowledge.js';
import type { Acknowledge } from './acknowledge.js';
import { bareRecord } from './bare-record.js';
import { beginOnce } from './begin-once.js';
import type { Begun } from './begin-once.js';
import { readToken, writeToken } from './continuation-token.js';
import { listThreads } from './list-threads.js';
import type { ThreadFilter, ThreadList } from './list-threads.js';
import { checkRuns, explainThread } from './read-thread.js';
import type { ThreadReader } from './read-thread.js';
import { isShown, toldStatus, withConcluded } from './open-turn.js';
import { forkThread } from './fork-thread.js';
import type { ForkOptions } from './fork-thread.js';
import { readOwner } from './read-owner.js';
import type { ThreadOwner } from './read-owner.js';
import { createSendQueue } from './send-queue.js';
import { startThread } from './start-thread.js';
import { createThreadStream } from './thread-stream.js';
import type { ThreadStream, ThreadStreamOptions } from './thread-stream.js';
import type { createTurnViews } from './turn-view.js';
import type { TurnReader, TurnWatches } from './turn-watch.js';

const UPDATE_DEADLINE_MS = 10_000;

export interface UpdateOptions {
  /** The same key, sent again, is the same command: it is answered as the first time and done once. */
  request_key?: string;
  /** It may be repeated without a key: see `contract/request-mark.ts`. */
  mark?: RequestMark;
  /** Who says it, where an edge knows it: not everybody may answer what a turn asks. */
  by?: Pick<SendCommand, 'by' | 'answered_by'>;
}

export interface GetOptions extends ReadOptions {
  /**
   * With the messages that wait for their turn, as `not_started` at the end. They are where they are only for now, so
   * whoever follows by deltas leaves this out: deltas have them once their turn has begun.
   */
  queued?: boolean;
}

export interface ReadOptions {
  /** Who reads: what it sent itself and sees now is acknowledged, and then the same words are a new message. */
  reader?: string;
}

export interface Threads {
  start(request: ThreadRequestInput): Promise<AgentThreadRecord>;
  /** Begins a thread under the id that it is given, or gives the one that the same request has begun before. */
  beginOnce(
    agentId: string,
    mark: RequestMark,
    begin: (threadId: string) => Promise<AgentThreadRecord>,
  ): Promise<Begun>;
  get(threadId: string, options?: GetOptions): Promise<AgentThreadRecord>;
  /** Without messages and goals; the first delta with its token has them all. */
  getBare(threadId: string): Promise<AgentThreadRecord>;
  /** Newest first; one that was just started may not be there yet. */
  list(filter?: ThreadFilter): Promise<ThreadList>;
  /** What the record does not show: the agent, the open turn's run, what it waits for. */
  header(threadId: string): Promise<ThreadHeader>;
  /** Whose it is: of a thread that is there, and mostly without asking a worker. */
  owner(threadId: string): Promise<ThreadOwner>;
  /** The events of its turns, one after another, through all turns to come, until it is deleted. */
  stream(threadId: string, options?: ThreadStreamOptions): ThreadStream;
  /** Its turns, as they begin. */
  turns(threadId: string): TurnReader;
  /** An event of that stream is about to be shown: what its reader sent itself, and sees by it, is acknowledged. */
  acknowledge: Acknowledge['shownBy'];
  /** What changed since the token was given. */
  delta(threadId: string, token: string, options?: ReadOptions): Promise<AgentThreadDelta>;
  send(threadId: string, message: SendMessageInput, options?: UpdateOptions): Promise<SendAnswer>;
  submitToolResults(
    threadId: string,
    results: SubmitCommand,
    options?: Pick<UpdateOptions, 'request_key'>,
  ): Promise<void>;
  /** Approves a call that the open turn wants to make, or denies it: `asks` of the text that asks has its ids. */
  decideApproval(
    threadId: string,
    decision: DecideCommand,
    options?: Pick<UpdateOptions, 'request_key'>,
  ): Promise<void>;
  /** Ends the open turn; what was said is kept. */
  cancel(threadId: string): Promise<CancelTurnAnswer>;
  /** A new private thread with the messages up to one; the source is untouched. */
  fork(threadId: string, options: ForkOptions): Promise<AgentThreadRecord>;
  rename(threadId: string, title: string): Promise<void>;
  delete(threadId: string): Promise<void>;
  /** A bookmark of one reader. */
  pin(threadId: string, pin: PinCommand): Promise<void>;
}

interface ThreadsOptions {
  client: Client;
  artefacts?: ArtefactStore | undefined;
  updates: Updates;
  reader: ThreadReader;
  taskQueue?: string;
  /** Readers are not in the worker's process: its runs send live text by signal. */
  signalLive: boolean;
  turns: ReturnType<typeof createTurnViews>;
  watches: TurnWatches;
  streamRun: Runs['stream'];
  mostWaiting: number | undefined;
}

export function createThreads(options: ThreadsOptions): Threads {
  const {
    client,
    artefacts,
    updates,
    reader: threadReader,
    taskQueue = TASK_QUEUE,
    signalLive,
    turns,
    watches,
    streamRun,
    mostWaiting,
  } = options;

  const sendMessage = createSendQueue(updates, mostWaiting);
  const acknowledge = createAcknowledge(client);

  async function update<T>(threadId: string, name: string, command: object, options: UpdateOptions = {}): Promise<T> {
    checkSizes(command);
    try {
      const { request_key: updateId } = options;
      return await updates.execute<T>(threadId, name, command, { deadlineMs: UPDATE_DEADLINE_MS, updateId });
    } catch (error) {
      throw explainThread(error, threadId);
    } finally {
      watches.hint(threadId);
    }
  }

  /** From a message on, with what is shown of the open turn. */
  async function view(threadId: string, first: number): Promise<ThreadView & { header: ThreadHeader }> {
    const stored = await threadReader.read(threadId, first);
    const { header, tail } = stored;
    const { run_id } = header.turn ?? {};
    const turn = run_id === undefined ? undefined : turns.of(threadId, run_id);
    const shown = (await turn?.messages((messages) => isShown(header, messages))) ?? [];
    // A thread that the engine ended answers queries as if it would go on; where it should move, it is looked at.
    if (!header.ready || turn?.isOver() === true) await checkRuns(client, threadId);
    const from = Math.min(first, tail);
    const { title, goals } = header;
    return {
      header,
      ...toldStatus(header, shown),
      title,
      goals: turn === undefined ? goals : withConcluded(goals, turn.goals()),
      from,
      stored: tail,
      messages: [...stored.messages, ...shown],
      open: run_id !== undefined,
    };
  }

  async function get(threadId: string, { reader, queued = false }: GetOptions = {}): Promise<AgentThreadRecord> {
    const now = await view(threadId, 0);
    await acknowledge.all(now.header, reader);
    const { header, status, title, goals, messages } = now;
    const continuation_token = writeToken(threadId, positionOf(now));
    const waiting = queued && header.queued > 0 ? await threadReader.queue(threadId) : [];
    return { ...header.record, title, status, messages: [...messages, ...waiting], goals, continuation_token };
  }

  return {
    get,
    async start(input) {
      const request = checkThreadRequest(input);
      const told = signalLive ? { signal_live: true, ...request } : request;
      return get(await startThread(client, threadReader, taskQueue, told));
    },
    stream: (threadId, wanted = {}) =>
      createThreadStream(threadId, { turns: () => watches.open(threadId), stream: streamRun }, wanted),
    turns: (threadId) => watches.open(threadId),
    acknowledge: acknowledge.shownBy,
    beginOnce: (agentId, mark, begin) => beginOnce({ agentId, client, get, reader: threadReader, mark, begin }),
    header: threadReader.header,
    owner: (threadId) => readOwner(client, threadReader, threadId),
    getBare: async (threadId) => bareRecord(await threadReader.header(threadId)),
    list: (filter = {}) => listThreads(client, taskQueue, filter, threadReader.header),
    async delta(threadId, token, { reader } = {}) {
      const position = readToken(threadId, token);
      const since = async (first: number) => {
        const now = await view(threadId, first);
        const found = deltaSince(now, position);
        return found === undefined ? undefined : { ...found, header: now.header };
      };
      // Where only everything will do, the second look begins at the first message.
      const found = (await since(position.sent?.base ?? 0)) ?? (await since(0));
      if (found === undefined) throw new PerdureError('internal', `thread ${threadId}: no delta could be made`);
      await acknowledge.all(found.header, reader);
      return { continuation_token: writeToken(threadId, found.position), ...found.delta };
    },
    async send(threadId, input, options) {
      const { message, on_busy, client_tools, goals, client_context, analysis_scope } = checkSendMessage(input);
      const command: SendCommand = {
        message,
        on_busy,
        ...(client_tools == null ? {} : { client_tools }),
        ...(goals == null ? {} : { goals }),
        ...(options?.mark === undefined ? {} : { mark: options.mark }),
        ...(client_context == null ? {} : { client_context }),
        ...(analysis_scope == null ? {} : { analysis_scope }),
        ...options?.by,
      };
      try {
        return await sendMessage(threadId, command, options?.request_key);
      } catch (error) {
        throw explainThread(error, threadId);
      } finally {
        watches.hint(threadId);
      }
    },
    async submitToolResults(threadId, results, options) {
      await update(threadId, SUBMIT_TOOL_RESULTS, results, options);
    },
    async decideApproval(threadId, decision, options) {
      await update(threadId, DECIDE_APPROVAL, decision, options);
    },
    cancel: (threadId) => update(threadId, CANCEL_TURN, {}),
    fork: async (threadId, options) =>
      get(await forkThread({ client, reader: threadReader, artefacts, taskQueue, signalLive }, threadId, options)),
    async rename(threadId, title) {
      await update(threadId, RENAME_THREAD, { title });
    },
    async pin(threadId, pin) {
      await update(threadId, PIN_THREAD, pin);
    },
    async delete(threadId) {
      await update(threadId, DELETE_THREAD, {});
    },
  };
}
