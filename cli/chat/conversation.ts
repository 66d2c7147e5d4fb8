/**
 * The thread that a chat is in: its turns are shown as they come, whoever began them, and messages are sent to it.
 *
 * C1  What is shown is the thread's stream, so that two who chat in one thread see the same.
 * C2  A message that could not be sent is sent again under the same key, so that it is said once.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Threads } from '../../client/index.js';
import { isPerdureError } from '../../contract/errors.js';
import type { SendAnswer, ThreadHeader } from '../../contract/thread-commands.js';
import type { AgentMessage } from '../../contract/thread-records.js';
import type { SendMessageInput } from '../../contract/thread-request.js';
import type { ClientToolSpec } from '../../contract/tools.js';
import { showRun } from '../show-run.js';
import type { RunShow, ShowOptions } from '../show-run.js';
import type { RunView } from '../view/run-view.js';
import type { Desk } from './desk.js';
import { tellMessages, tellQuestion } from './tell-messages.js';

const AGAIN_MS = 50;

export interface ConversationOptions extends Pick<ShowOptions, 'session' | 'settings' | 'flags'> {
  threads: Threads;
  desk: Desk;
  clientTools: ClientToolSpec[] | undefined;
  turnBegan(view: RunView): void;
  turnEnded(exitCode: number): void;
  /** There is nothing more to show: the thread is gone, or it cannot be read. */
  over(why: unknown): void;
}

export interface Conversation {
  threadId(): string;
  isBusy(): boolean;
  /** Shows what was said, and what is said from now on. */
  enter(threadId: string): Promise<void>;
  /** The run that answers; undefined where the message waits for its turn. */
  say(text: string, isShown: boolean): Promise<string | undefined>;
  /** Until the turn with this run is over. */
  ended(runId: string): Promise<void>;
  /** The messages, finished ones only. */
  messages(): Promise<AgentMessage[]>;
  leave(): void;
}

export function createConversation(options: ConversationOptions): Conversation {
  const { threads, desk, clientTools, turnBegan, turnEnded, over, ...showing } = options;
  let threadId = '';
  let leaving = new AbortController();
  let turn: { runId: string; show: RunShow } | undefined;
  /** A message that is on the screen already. */
  let shown: string | undefined;
  let unsent: { text: string; key: string } | undefined;
  const finished = new Set<string>();
  let wake: (() => void) | undefined;

  async function follow(id: string, from: number, signal: AbortSignal): Promise<void> {
    try {
      for await (const event of threads.stream(id, { from, signal })) {
        if (event.type === 'thread_ended') return over(new Error(event.message));
        if (event.type === 'run_started' && event.run_id !== turn?.runId) question(event.input);
        turn ??= begin(event.run_id);
        const exitCode = turn.show.event(event);
        if (exitCode === undefined) continue;
        finished.add(event.run_id);
        turn = undefined;
        turnEnded(exitCode);
        wake?.();
      }
    } catch (error) {
      if (!signal.aborted) over(error);
    } finally {
      turn?.show.stop();
      turn = undefined;
    }
  }

  function begin(runId: string) {
    const view = desk.openView();
    turnBegan(view);
    return { runId, show: showRun({ ...showing, runId, view, reader: desk.questions }) };
  }

  function question(input: unknown): void {
    const text = typeof input === 'string' ? input : '(no text)';
    const isShown = shown === text;
    shown = undefined;
    if (!isShown) desk.print(['', ...tellQuestion(text, desk.styles)]);
  }

  async function read(id: string): Promise<{ header: ThreadHeader; messages: AgentMessage[] }> {
    for (;;) {
      const before = await threads.header(id);
      const { messages } = await threads.get(id);
      const header = await threads.header(id);
      // Else it moved on in between, and what was read belongs to two moments.
      if (header.counter !== before.counter) continue;
      if (isTaking(header)) {
        await sleep(AGAIN_MS);
        continue;
      }
      // Those of the open turn are shown as they come.
      const open = header.turn === undefined ? messages.length : messages.findLastIndex(({ role }) => role === 'user');
      return { header, messages: messages.slice(0, open) };
    }
  }

  /** A turn is seen to end a moment before its thread has taken what was said in it. */
  function isTaking({ turn: open }: ThreadHeader): boolean {
    return open !== undefined && finished.has(open.run_id);
  }

  async function send(message: SendMessageInput, request_key: string): Promise<SendAnswer> {
    for (;;) {
      try {
        return await threads.send(threadId, message, { request_key });
      } catch (error) {
        if (!isPerdureError(error) || error.code !== 'thread_busy') throw error;
        const header = await threads.header(threadId);
        // Then it is nobody else's turn.
        if (header.queued > 0 || !(header.turn === undefined || isTaking(header))) throw error;
        await sleep(AGAIN_MS);
      }
    }
  }

  function leave(): void {
    leaving.abort();
    turn?.show.stop();
    turn = undefined;
  }

  return {
    threadId: () => threadId,
    isBusy: () => turn !== undefined,
    leave,
    messages: async () => (await read(threadId)).messages,
    async enter(id) {
      const { header, messages } = await read(id);
      leave();
      threadId = id;
      leaving = new AbortController();
      desk.print(tellMessages(messages, desk.styles));
      const from = header.turn === undefined ? header.turns + 1 : header.turns;
      void follow(id, from, leaving.signal);
    },
    async say(text, isShown) {
      const key = unsent?.text === text ? unsent.key : randomUUID();
      unsent = { text, key };
      shown = isShown ? text : undefined;
      const message = { message: text, on_busy: turn === undefined ? ('reject' as const) : ('enqueue' as const) };
      const tools = clientTools === undefined ? {} : { client_tools: clientTools };
      try {
        const sent = await send({ ...message, ...tools }, key);
        unsent = undefined;
        if (sent.state === 'queued') shown = undefined;
        return sent.state === 'started' ? sent.run_id : undefined;
      } catch (error) {
        shown = undefined;
        // A refusal is an answer; only what had none may have arrived.
        if (isPerdureError(error) && error.code !== 'server_unreachable') unsent = undefined;
        throw error;
      }
    },
    async ended(runId) {
      while (!finished.has(runId) && !leaving.signal.aborted) {
        await new Promise<void>((resolve) => {
          wake = resolve;
          leaving.signal.addEventListener('abort', () => resolve(), { once: true });
        });
      }
    },
  };
}
