/** A chat from its first line to its last: what is typed goes to the thread, Ctrl-C to its turn. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isPerdureError } from '../../contract/errors.js';
import type { ErrorCode } from '../../contract/errors.js';
import type { ClientToolSpec } from '../../contract/tools.js';
import { CommandError, messageOf } from '../command-error.js';
import { EXIT } from '../exit-codes.js';
import { line as gist } from '../format.js';
import type { Interrupts } from '../interrupts.js';
import type { ShowOptions } from '../show-run.js';
import type { RunView } from '../view/run-view.js';
import type { ChatThreads } from './chat-threads.js';
import { isCommand, messageOfLine, runCommand } from './commands.js';
import { createConversation } from './conversation.js';
import type { Desk } from './desk.js';
import { createOutbox } from './outbox.js';
import { tellQuestion } from './tell-messages.js';

export interface ConverseOptions extends Pick<ShowOptions, 'session' | 'settings' | 'flags'> {
  threads: ChatThreads;
  threadId: string;
  desk: Desk;
  interrupts: Interrupts;
  clientTools: ClientToolSpec[] | undefined;
  /** What is to be typed to come back to a thread. */
  comeBack(threadId: string): string;
  /** Why something failed, as far as it can be seen from outside. */
  explain(error: unknown, threadId: string): Promise<unknown>;
  /** At the end: what was typed and reached nobody. */
  left(unsent: readonly string[]): void;
}

/** Nobody is there now who could take a message, and may be in a moment. */
const PASSING: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['server_unreachable', 'not_ready', 'rate_limited']);
/** For a message that was entered just before leaving. */
const LAST_WORDS_MS = 3_000;

export interface Conversed {
  /** Where lines were piped in: of the first turn that did not succeed. */
  exitCode: number;
  /** Where it ended: a fork is another thread. */
  threadId: string;
  /** In the middle of a turn. */
  isCut: boolean;
  /** There was a turn. */
  isUsed: boolean;
}

export async function converse(options: ConverseOptions): Promise<Conversed> {
  const { threads, desk, interrupts, comeBack, explain, session } = options;
  const isTyped = desk.questions !== undefined;
  const leaving = new AbortController();
  let exitCode: number = EXIT.success;
  let failure: { error: unknown } | undefined;
  let isCut = false;
  let isUsed = false;

  const conversation = createConversation({
    ...options,
    turnBegan(view) {
      isUsed = true;
      interrupts.handle(
        () => cancel(view),
        () => leave(EXIT.interrupted),
      );
    },
    turnEnded(code) {
      if (!isTyped && exitCode === EXIT.success) exitCode = code;
      waitForInterrupts();
    },
    over: fail,
  });

  function waitForInterrupts(): void {
    const go = () => leave(EXIT.interrupted);
    interrupts.handle(isTyped ? () => desk.note('Ctrl-C again leaves, and so does /quit') : go, go);
  }

  function cancel(view: RunView): void {
    view.hint('canceling: waiting for the turn to end; Ctrl-C again leaves');
    threads.cancel(conversation.threadId()).catch((error: unknown) => {
      view.note(`the cancel failed: ${messageOf(error)}`);
    });
  }

  function leave(code = exitCode): void {
    exitCode = code;
    isCut ||= conversation.isBusy();
    leaving.abort();
    conversation.leave();
  }

  function fail(error: unknown): void {
    failure ??= { error };
    leave();
  }

  const outbox = createOutbox({
    send: say,
    isPassing: (error) => isTyped && isPerdureError(error) && PASSING.has(error.code),
    async kept(error) {
      const why = messageOf(await explain(error, conversation.threadId()));
      desk.note(`${why} Your message is kept, and is sent when that has passed.`);
    },
    refused,
    signal: leaving.signal,
  });

  async function say(line: string, isFirst: boolean): Promise<void> {
    const text = messageOfLine(line);
    const isShown = isTyped && !conversation.isBusy();
    if (isShown && isFirst) desk.print(['', ...tellQuestion(text, desk.styles)]);
    const runId = await conversation.say(text, isShown);
    if (runId === undefined) desk.note(`it waits for the turn to end: ${gist(text)}`);
    else if (!isTyped) await conversation.ended(runId);
  }

  async function obey(line: string): Promise<void> {
    // What was said before it comes first, where somebody takes it.
    await outbox.idle();
    const isPending = outbox.waiting().length > 0;
    try {
      if (isPending && line.startsWith('/fork')) throw new CommandError('A message waits to be sent: /fork after it.');
      await runCommand(line, { threads, conversation, desk, comeBack, quit: () => leave() });
    } catch (error) {
      await refused(error, line);
    }
  }

  /** At a terminal the person can do something about it; where lines are piped in, the chat is over. */
  async function refused(error: unknown, line: string): Promise<void> {
    const why = await explain(error, conversation.threadId());
    const isBusy = isPerdureError(why) && why.code === 'thread_busy';
    if (!isTyped) return fail(isBusy ? new CommandError(busy(conversation.threadId()), EXIT.failed, why) : why);
    const reason = isBusy ? 'somebody else was quicker' : messageOf(why);
    if (isCommand(line)) return desk.note(messageOf(why));
    const where = desk.restore(line) ? 'it is in the line again' : 'the arrow up brings it back';
    desk.note(`${reason}. Your message was not sent: ${where}`.replace('..', '.'));
  }

  function busy(threadId: string): string {
    const next = `Wait until it is over, or watch and /cancel it at a terminal: ${comeBack(threadId)}`;
    return `Thread ${threadId} is in the middle of a turn that somebody else began, so it takes no message now. ${next}`;
  }

  session.broken.catch(fail);
  process.stdout.on('error', () => leave(EXIT.interrupted));
  waitForInterrupts();
  try {
    await conversation.enter(options.threadId);
    let obeyed = Promise.resolve();
    for (;;) {
      const line = (await desk.next(leaving.signal))?.trim();
      if (line === undefined) break;
      if (line === '') continue;
      if (line === '/quit') leave();
      else if (isCommand(line)) obeyed = obeyed.then(() => obey(line));
      else {
        if (outbox.isBlocked()) desk.note(`it waits to be sent: ${gist(line)}`);
        outbox.put(line);
      }
      if (!isTyped) await Promise.all([outbox.idle(), obeyed]);
    }
    if (!leaving.signal.aborted) await Promise.race([outbox.idle(), sleep(LAST_WORDS_MS, undefined, { ref: false })]);
    leave();
  } finally {
    const draft = desk.close();
    options.left([...(isTyped ? outbox.waiting() : []), ...(draft.trim() === '' ? [] : [draft])]);
  }
  if (failure !== undefined) throw failure.error;
  return { exitCode, threadId: conversation.threadId(), isCut, isUsed };
}
