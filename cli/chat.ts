/** `perdure chat`: a conversation with an agent, at a terminal or by lines from a pipe. */
import { isPerdureError } from '../contract/errors.js';
import { installRuntimeLog } from '../worker/runtime-log.js';
import type { ChatThreads } from './chat/chat-threads.js';
import { converse } from './chat/converse.js';
import { openDesk } from './chat/desk.js';
import { catchPrints } from './catch-prints.js';
import { CommandError, messageOf } from './command-error.js';
import { commandName } from './command-name.js';
import { findConfig } from './config-file.js';
import { EXIT } from './exit-codes.js';
import { gatewayClient } from './gateway-address.js';
import { listenForInterrupts } from './interrupts.js';
import { historyPath, openHistoryFile } from './keyboard/history-file.js';
import { loadRegistry } from './load-config.js';
import { createNews } from './news.js';
import { readClientTools } from './read-client-tools.js';
import { quoted, repeatFlags } from './repeat-flags.js';
import type { FoundBy } from './repeat-flags.js';
import { openSession } from './run-session.js';
import type { RunSession } from './run-session.js';
import { serverSettings } from './server-settings.js';
import { withObstacle } from './with-obstacle.js';

export interface ChatFlags extends FoundBy {
  thread?: string;
  modelProfile?: string;
  clientTools?: string;
  markdown?: boolean;
  debug?: boolean;
}

/** Gives the exit code. */
export async function chat(agent: string | undefined, flags: ChatFlags): Promise<number> {
  const interrupts = listenForInterrupts();
  const stop = () => process.exit(EXIT.interrupted);
  interrupts.handle(stop, stop);
  const news = createNews();
  const prints = catchPrints(news.print);
  installRuntimeLog(news.lasting, { level: flags.debug ? 'INFO' : 'ERROR' });
  checkUsage(agent, flags);
  const clientTools = flags.clientTools === undefined ? undefined : readClientTools(flags.clientTools);
  const settings = serverSettings(flags, process.env);
  // A gateway has a configuration of its own.
  const isHere = flags.thread === undefined && gatewayClient(flags, process.env) === undefined;
  const agentId = agent ?? (isHere ? await firstAgent(flags) : undefined);
  const session = await openSession(settings, flags, agentId, news, prints.around).finally(news.clear);
  const { threads } = session;
  const comeBack = (threadId: string) => `${commandName()} chat --thread ${quoted(threadId)}${repeatFlags(flags)}`;
  const explain = (error: unknown, threadId: string) => explained(error, session, flags, threadId);

  try {
    const threadId = flags.thread ?? (await begin(threads, agentId, flags, explain));
    const state = await threads.state(threadId).catch(async (error: unknown) => {
      throw await explain(error, threadId);
    });
    const title = flags.thread === undefined ? '' : `: ${state.title ?? 'without a title'}`;
    news.lasting(`thread ${threadId} with ${state.agent_id}${title}`);
    const noHistory = (error: unknown) =>
      news.lasting(`what you type is not kept for the next chat: ${messageOf(error)}`);
    const history = () => openHistoryFile(historyPath(process.env), noHistory);
    const desk = openDesk({ markdown: flags.markdown ?? true, history });
    news.on(desk);
    const found = repeatFlags(session.embedded ? { ...flags, address: session.address } : flags);
    const left = (unsent: readonly string[]) => {
      news.on(undefined);
      for (const text of unsent) news.lasting(`not sent, and in the history of the next chat: ${text}`);
    };
    const ways = { interrupts, clientTools, comeBack, explain, left };
    const ended = await converse({ session, settings, flags: found, threads, threadId, desk, ...ways });
    news.on(undefined);
    const isOwn = flags.thread === undefined && ended.threadId === threadId;
    const isEmpty = isOwn && !ended.isUsed && (await isUnused(threads, threadId));
    if (!isEmpty) news.lasting(farewell(ended.threadId, ended.isCut, session, flags, comeBack));
    // What goes on is the thread's; nobody who leaves should have to wait for it.
    if (ended.isCut) process.exit(ended.exitCode);
    return ended.exitCode;
  } finally {
    news.on(undefined);
    interrupts.handle(stop, stop);
    await session.close();
  }
}

function checkUsage(agent: string | undefined, flags: ChatFlags): void {
  if (agent !== undefined && flags.thread !== undefined)
    throw new CommandError('A thread has its agent: give an agent for a new one, or --thread, not both.');
}

/** Of the configuration here, or of the built-in demo. */
async function firstAgent(flags: ChatFlags): Promise<string> {
  const { agents } = await loadRegistry(findConfig(process.cwd(), flags.config));
  const [first] = agents.keys();
  if (first === undefined) throw new CommandError('The configuration has no agent: name one, like demo.assistant.');
  return first;
}

async function begin(
  threads: ChatThreads,
  agentId: string | undefined,
  { modelProfile }: ChatFlags,
  explain: (error: unknown, threadId: string) => Promise<unknown>,
): Promise<string> {
  const profile = modelProfile === undefined ? {} : { model_profile: modelProfile };
  try {
    const agent = agentId === undefined ? {} : { agent_id: agentId };
    return (await threads.start({ ...agent, ...profile })).thread_id;
  } catch (error) {
    throw await explain(error, agentId ?? '');
  }
}

async function explained(error: unknown, session: RunSession, flags: ChatFlags, threadId: string): Promise<unknown> {
  const { temporal, embedded } = session;
  if (isPerdureError(error) && error.code === 'unknown_thread' && embedded) {
    const where =
      flags.dataDir === undefined ? 'was started just now, and is empty' : `has the data in ${flags.dataDir}`;
    const next = 'Name the server that has it with --address, or its folder with --data-dir.';
    return new CommandError(`There is no thread "${threadId}" on the server of this command, which ${where}. ${next}`);
  }
  if (temporal === undefined) return error;
  return withObstacle(error, { temporal }, threadId, flags.taskQueue, `thread ${threadId} answers through a worker`);
}

/** One that was opened here, and to which nobody said anything, is not worth keeping. */
async function isUnused(threads: ChatThreads, threadId: string): Promise<boolean> {
  try {
    if ((await threads.state(threadId)).turns > 0) return false;
    await threads.delete(threadId);
    return true;
  } catch {
    return false;
  }
}

function farewell(
  threadId: string,
  isCut: boolean,
  { embedded }: RunSession,
  { dataDir }: ChatFlags,
  comeBack: (threadId: string) => string,
): string {
  if (embedded && dataDir === undefined)
    return `The server was up for this chat only, and forgets it. To keep conversations: ${commandName()} dev, or --data-dir.`;
  const going = isCut
    ? embedded
      ? 'Its turn goes on when you come back'
      : 'Its turn goes on without us'
    : 'It stays as it is';
  return `Left thread ${threadId}. ${going}. To come back: ${comeBack(threadId)}`;
}
