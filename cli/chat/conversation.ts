/**
 * The thread that a chat is in: its turns are shown as they come, whoever began them, and messages are sent to it.
 *
 * C1  What is shown is the thread's stream, so that two who chat in one thread see the same.
 * C2  A message that could not be sent is sent again under the same key, so that it is said once.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ThreadEvent } from '../../client/index.js';
import { errorOf, isPerdureError } from '../../contract/errors.js';
import type { SendAnswer } from '../../contract/thread-commands.js';
import type { AgentMessage } from '../../contract/thread-records.js';
import type { SendMessageInput } from '../../contract/thread-request.js';
import type { ThreadState } from '../../contract/thread-summary.js';
import type { ClientToolSpec } from '../../contract/tools.js';
import { showRun } from '../show-run.js';
import type { RunShow, ShowOptions } from '../show-run.js';
import type { RunView } from '../view/run-view.js';
import type { ChatThreads } from './chat-threads.js';
import type { Desk } from './desk.js';
import { tellMessages, tellQuestion } from './tell-messages.js';

const AGAIN_MS = 50;

export interface ConversationOptions extends Pick<ShowOptions, 'session' | 'settings' | 'flags'> {
  threads: ChatThreads;
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
  /** Until the turn with this run is over, or asks something that nobody here is asked. */
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
  /** The turn that we began, until its end is seen: its thread is busy before its first event is here. */
  let begun: string | undefined;
  /** A message that is on the screen already. */
  let shown: string | undefined;
  let unsent: { text: string; key: string } | undefined;
  const finished = new Set<string>();
  /** Questions of the open turn, by run and pause. Where somebody sits here, they are asked by its view. */
  const questions = new Set<string>();
  let wake: (() => void) | undefined;

  async function follow(id: string, from: number, signal: AbortSignal): Promise<void> {
    try {
      for await (const event of threads.stream(id, { from, signal })) {
        if (event.type === 'thread_ended') return over(new Error(event.message));
        if (event.type === 'stream_failed') return over(errorOf(event));
        if (event.type === 'run_started' && event.run_id !== turn?.runId) await question(event.input, signal);
        turn ??= begin(event.run_id);
        noteQuestion(event);
        const exitCode = turn.show.event(event);
        if (exitCode === undefined) continue;
        finished.add(event.run_id);
        questions.clear();
        turn = undefined;
        if (begun === event.run_id) begun = undefined;
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

  function noteQuestion(event: ThreadEvent): void {
    if (desk.questions !== undefined) return;
    const before = questions.size;
    if (event.type === 'await_clarification') questions.add(`${event.run_id} ${event.await_id}`);
    if (event.type === 'await_resolved') questions.delete(`${event.run_id} ${event.await_id}`);
    if (event.type === 'child_await_changed' && event.kind === 'clarification') {
      const id = `${event.link.run_id} ${event.await_id}`;
      if (event.state === 'open') questions.add(id);
      else questions.delete(id);
    }
    if (questions.size > before) wake?.();
  }

  function begin(runId: string) {
    const view = desk.openView();
    turnBegan(view);
    return { runId, show: showRun({ ...showing, runId, view, reader: desk.questions }) };
  }

  async function question(input: unknown, signal: AbortSignal): Promise<void> {
    const text = typeof input === 'string' ? input : '(no text)';
    const isHidden = text === '';
    const isShown = shown !== undefined && (isHidden || shown === text);
    shown = undefined;
    if (isShown) return;
    // What a run was given may be kept from whoever reads its thread, where it is a message.
    const said = isHidden ? await lastQuestion() : text;
    if (!signal.aborted) desk.print(['', ...tellQuestion(said, desk.styles)]);
  }

  async function lastQuestion(): Promise<string> {
    const { messages } = await threads.get(threadId);
    const blocks = messages.findLast(isQuestion)?.content ?? [];
    return blocks.flatMap((block) => (block.content_type === 'text' ? [block.text] : [])).join('\n');
  }

  async function read(id: string): Promise<{ state: ThreadState; messages: AgentMessage[] }> {
    for (;;) {
      const before = await threads.state(id);
      const { messages } = await threads.get(id);
      const state = await threads.state(id);
      // Else it moved on in between, and what was read belongs to two moments.
      if (state.counter !== before.counter) continue;
      if (isTaking(state)) {
        await sleep(AGAIN_MS);
        continue;
      }
      // Those of the open turn are shown as they come.
      const open = state.open_run_id === undefined ? messages.length : messages.findLastIndex(isQuestion);
      return { state, messages: messages.slice(0, open) };
    }
  }

  /** A turn is seen to end a moment before its thread has taken what was said in it. */
  function isTaking({ open_run_id: open }: ThreadState): boolean {
    return open !== undefined && finished.has(open);
  }

  async function send(message: SendMessageInput, request_key: string): Promise<SendAnswer> {
    for (;;) {
      try {
        return await threads.send(threadId, message, { request_key });
      } catch (error) {
        if (!isPerdureError(error) || error.code !== 'thread_busy') throw error;
        // The run has asked, and its thread is about to hear of it.
        if (questions.size > 0) {
          await sleep(AGAIN_MS);
          continue;
        }
        const state = await threads.state(threadId);
        // Then it is nobody else's turn.
        if (state.queued > 0 || !(state.open_run_id === undefined || isTaking(state))) throw error;
        await sleep(AGAIN_MS);
      }
    }
  }

  function isBusy(): boolean {
    return turn !== undefined || begun !== undefined;
  }

  /** What is said to a turn that asks is its answer. */
  function waitsForTurn(): boolean {
    return isBusy() && questions.size === 0;
  }

  function leave(): void {
    leaving.abort();
    questions.clear();
    turn?.show.stop();
    turn = undefined;
    begun = undefined;
  }

  return {
    threadId: () => threadId,
    isBusy,
    leave,
    messages: async () => (await read(threadId)).messages,
    async enter(id) {
      const { state, messages } = await read(id);
      leave();
      threadId = id;
      leaving = new AbortController();
      desk.print(tellMessages(messages, desk));
      const from = state.open_run_id === undefined ? state.turns + 1 : state.turns;
      void follow(id, from, leaving.signal);
    },
    async say(text, isShown) {
      const key = unsent?.text === text ? unsent.key : randomUUID();
      unsent = { text, key };
      if (isShown) shown = text;
      const message = { message: text, on_busy: waitsForTurn() ? ('enqueue' as const) : ('reject' as const) };
      const tools = clientTools === undefined ? {} : { client_tools: clientTools };
      try {
        const sent = await send({ ...message, ...tools }, key);
        unsent = undefined;
        // Then it is shown when its turn begins.
        if (sent.state === 'queued' && isShown) shown = undefined;
        if (sent.state === 'queued') return undefined;
        // The answer is on its way, so this is no question any more.
        if (sent.state === 'answered')
          for (const id of questions) if (id.endsWith(` ${sent.await_id}`)) questions.delete(id);
        if (!finished.has(sent.run_id)) begun = sent.run_id;
        return sent.run_id;
      } catch (error) {
        if (isShown) shown = undefined;
        // A refusal is an answer; only what had none may have arrived.
        if (isPerdureError(error) && error.code !== 'server_unreachable') unsent = undefined;
        throw error;
      }
    },
    async ended(runId) {
      while (!finished.has(runId) && questions.size === 0 && !leaving.signal.aborted) {
        await new Promise<void>((resolve) => {
          wake = resolve;
          leaving.signal.addEventListener('abort', () => resolve(), { once: true });
        });
      }
      // The question is shown before the next line of the pipe answers it.
      await turn?.show.told();
    },
  };
}

/** What a turn answers; what answers a question of the turn is a part of it. */
function isQuestion({ role, answers }: AgentMessage): boolean {
  return role === 'user' && answers === undefined;
}
