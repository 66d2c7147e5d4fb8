/** A chat from its first line to its last: what is typed goes to the thread, Ctrl-C to its turn. */
import type { Threads } from '../../client/index.js';
import { isPerdureError } from '../../contract/errors.js';
import type { ClientToolSpec } from '../../contract/tools.js';
import { CommandError, messageOf } from '../command-error.js';
import { EXIT } from '../exit-codes.js';
import type { Interrupts } from '../interrupts.js';
import type { ShowOptions } from '../show-run.js';
import type { RunView } from '../view/run-view.js';
import { isCommand, messageOfLine, runCommand } from './commands.js';
import { createConversation } from './conversation.js';
import type { Desk } from './desk.js';
import { tellQuestion } from './tell-messages.js';

export interface ConverseOptions extends Pick<ShowOptions, 'session' | 'settings' | 'flags'> {
  threads: Threads;
  threadId: string;
  desk: Desk;
  interrupts: Interrupts;
  clientTools: ClientToolSpec[] | undefined;
  /** What is to be typed to come back to a thread. */
  comeBack(threadId: string): string;
  /** Why something failed, as far as it can be seen from outside. */
  explain(error: unknown, threadId: string): Promise<unknown>;
}

export interface Conversed {
  /** Where lines were piped in: of the first turn that did not succeed. */
  exitCode: number;
  /** Where it ended: a fork is another thread. */
  threadId: string;
  /** In the middle of a turn. */
  isCut: boolean;
}

export async function converse(options: ConverseOptions): Promise<Conversed> {
  const { threads, desk, interrupts, comeBack, explain, session } = options;
  const isTyped = desk.questions !== undefined;
  const leaving = new AbortController();
  let exitCode: number = EXIT.success;
  let failure: { error: unknown } | undefined;
  let isCut = false;

  const conversation = createConversation({
    ...options,
    turnBegan: (view) =>
      interrupts.handle(
        () => cancel(view),
        () => leave(EXIT.interrupted),
      ),
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

  async function take(line: string): Promise<void> {
    if (isCommand(line)) return runCommand(line, { threads, conversation, desk, comeBack, quit: () => leave() });
    const text = messageOfLine(line);
    const isShown = isTyped && !conversation.isBusy();
    if (isShown) desk.print(['', ...tellQuestion(text, desk.styles)]);
    const runId = await conversation.say(text, isShown);
    if (runId === undefined) desk.note(`it waits for the turn to end: ${text}`);
    else if (!isTyped) await conversation.ended(runId);
  }

  /** At a terminal the person can do something about it; where lines are piped in, the chat is over. */
  async function refused(error: unknown, line: string): Promise<void> {
    const why = await explain(error, conversation.threadId());
    const isBusy = isPerdureError(why) && why.code === 'thread_busy';
    if (!isTyped) return fail(isBusy ? new CommandError(busy(conversation.threadId()), EXIT.failed, why) : why);
    if (!isCommand(line)) desk.restore(line);
    desk.note(
      isBusy ? 'somebody else was quicker: your message was not sent, and is in the line again' : messageOf(why),
    );
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
    let work = Promise.resolve();
    for (;;) {
      const line = (await desk.next(leaving.signal))?.trim();
      if (line === undefined) break;
      if (line === '') continue;
      work = work.then(() => take(line)).catch((error: unknown) => refused(error, line));
      if (!isTyped) await work;
    }
    leave();
  } finally {
    desk.close();
  }
  if (failure !== undefined) throw failure.error;
  return { exitCode, threadId: conversation.threadId(), isCut };
}
