/** What can be typed in a chat besides messages. */
import { CommandError } from '../command-error.js';
import type { ChatThreads } from './chat-threads.js';
import type { Conversation } from './conversation.js';
import type { Desk } from './desk.js';
import { tellMessages } from './tell-messages.js';

const HELP = [
  '/history      what was said, with the number of each message',
  '/fork [n]     go on in a new thread, with what was said up to message n (the last one if absent)',
  '/title [text] show the title, or give another one',
  '/cancel       stop the turn that is going on; so does Ctrl-C',
  '/quit         leave; the thread stays, and so does a turn that is going on. So do Ctrl-D and two Ctrl-C',
  '//…           a message that begins with a slash',
  'While a turn goes on you can type: a message waits until it is over.',
  'Pasted lines are one message; Alt-Enter begins a new line. Arrows bring back what was entered before.',
];

export interface CommandContext {
  threads: ChatThreads;
  conversation: Conversation;
  desk: Desk;
  quit(): void;
  /** How to come back to a thread. */
  comeBack(threadId: string): string;
}

/** What is no message. Several lines are one, whatever they begin with. */
export function isCommand(text: string): boolean {
  return text.startsWith('/') && !text.startsWith('//') && !text.includes('\n');
}

/** The message of a line that is no command. */
export function messageOfLine(line: string): string {
  return line.startsWith('//') ? line.slice(1) : line;
}

/** Throws a CommandError for what it does not know or cannot do now. */
export async function runCommand(line: string, context: CommandContext): Promise<void> {
  const { threads, conversation, desk, quit } = context;
  const [, name = '', given = ''] = /^\/(\S*)\s*([^]*)$/.exec(line) ?? [];
  const argument = given.trim();
  const threadId = conversation.threadId();
  switch (name) {
    case 'help':
      return desk.print(['', ...HELP]);
    case 'history': {
      const lines = tellMessages(await conversation.messages(), desk, true);
      return lines.length === 0 ? desk.note('nothing was said yet') : desk.print(lines);
    }
    case 'title':
      if (argument !== '') await threads.rename(threadId, argument);
      return desk.note(`title: ${(await threads.state(threadId)).title ?? 'none yet'}`);
    case 'cancel':
      if (!conversation.isBusy()) return desk.note('there is no turn to cancel');
      await threads.cancel(threadId);
      return;
    case 'fork':
      return fork(argument, context);
    case 'quit':
      return quit();
    default:
      throw new CommandError(`There is no /${name}. /help lists what there is; // begins a message with a slash.`);
  }
}

async function fork(argument: string, { threads, conversation, desk, comeBack }: CommandContext): Promise<void> {
  if (conversation.isBusy()) throw new CommandError('A turn is going on: wait for it or /cancel it, then /fork.');
  const source = conversation.threadId();
  const messages = await conversation.messages();
  if (messages.length === 0) throw new CommandError('Nothing was said yet: there is nothing to fork.');
  const last = messages.length - 1;
  const at = argument === '' ? last : Number(argument);
  if (!Number.isInteger(at) || at < 0 || at > last) {
    throw new CommandError(`/fork takes the number of a message, 0 to ${last}: /history shows them.`);
  }
  const { thread_id } = await threads.fork(source, { message_sequence_num: at });
  desk.note(`forked at message ${at}: you are now in ${thread_id}. Back to the other one: ${comeBack(source)}`);
  await conversation.enter(thread_id);
}
