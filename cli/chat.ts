/** `perdure chat`: a conversation with an agent, at a terminal or by lines from a pipe. */
import { isPerdureError, PerdureError } from '../contract/errors.js';
import type { Threads } from '../client/index.js';
import { installRuntimeLog } from '../worker/runtime-log.js';
import { converse } from './chat/converse.js';
import { openDesk } from './chat/desk.js';
import { CommandError } from './command-error.js';
import { commandName } from './command-name.js';
import { findConfig } from './config-file.js';
import { EXIT } from './exit-codes.js';
import { gatewayClient } from './gateway-address.js';
import { listenForInterrupts } from './interrupts.js';
import { loadRegistry } from './load-config.js';
import { createNotices } from './notices.js';
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
  debug?: boolean;
}

/** Gives the exit code. */
export async function chat(agent: string | undefined, flags: ChatFlags): Promise<number> {
  const interrupts = listenForInterrupts();
  const stop = () => process.exit(EXIT.interrupted);
  interrupts.handle(stop, stop);
  const notices = createNotices();
  let say = notices.lasting;
  installRuntimeLog((line) => say(line), flags.debug ? 'INFO' : 'ERROR');
  checkUsage(agent, flags);
  const clientTools = flags.clientTools === undefined ? undefined : readClientTools(flags.clientTools);
  const settings = serverSettings(flags, process.env);
  const agentId = agent ?? (flags.thread === undefined ? await firstAgent(flags) : undefined);
  const session = await openSession(settings, flags, agentId, notices).finally(notices.clear);
  const { threads } = session;
  const comeBack = (threadId: string) => `${commandName()} chat --thread ${quoted(threadId)}${repeatFlags(flags)}`;
  const explain = (error: unknown, threadId: string) => explained(error, session, flags, threadId);

  try {
    if (threads === undefined) throw new PerdureError('internal', 'a session without threads was opened for a chat');
    const threadId = flags.thread ?? (await begin(threads, agentId ?? '', flags, explain));
    const header = await threads.header(threadId).catch(async (error: unknown) => {
      throw await explain(error, threadId);
    });
    const title = flags.thread === undefined ? '' : `: ${header.title ?? 'without a title'}`;
    notices.lasting(`thread ${threadId} with ${header.agent_id}${title}`);
    const desk = openDesk();
    say = (line) => desk.note(line);
    const found = repeatFlags(session.embedded ? { ...flags, address: session.address } : flags);
    const ways = { interrupts, clientTools, comeBack, explain };
    const ended = await converse({ session, settings, flags: found, threads, threadId, desk, ...ways });
    say = notices.lasting;
    const isOwn = flags.thread === undefined && ended.threadId === threadId;
    const isEmpty = isOwn && (await isUnused(threads, threadId));
    if (!isEmpty) notices.lasting(farewell(ended.threadId, ended.isCut, session, flags, comeBack));
    // What goes on is the thread's; nobody who leaves should have to wait for it.
    if (ended.isCut) process.exit(ended.exitCode);
    return ended.exitCode;
  } finally {
    say = notices.lasting;
    interrupts.handle(stop, stop);
    await session.close();
  }
}

function checkUsage(agent: string | undefined, flags: ChatFlags): void {
  if (agent !== undefined && flags.thread !== undefined)
    throw new CommandError('A thread has its agent: give an agent for a new one, or --thread, not both.');
  if (gatewayClient(flags, process.env) !== undefined)
    throw new CommandError(
      'PERDURE_URL names a gateway, and chat talks to a Temporal server: name one with --address.',
    );
}

/** Of the configuration here, or of the built-in demo. */
async function firstAgent(flags: ChatFlags): Promise<string> {
  const { agents } = await loadRegistry(findConfig(process.cwd(), flags.config), 'memory');
  const [first] = agents.keys();
  if (first === undefined) throw new CommandError('The configuration has no agent: name one, like demo.assistant.');
  return first;
}

async function begin(
  threads: Threads,
  agent_id: string,
  { modelProfile }: ChatFlags,
  explain: (error: unknown, threadId: string) => Promise<unknown>,
): Promise<string> {
  const profile = modelProfile === undefined ? {} : { model_profile: modelProfile };
  try {
    return (await threads.start({ agent_id, ...profile })).thread_id;
  } catch (error) {
    throw await explain(error, agent_id);
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
async function isUnused(threads: Threads, threadId: string): Promise<boolean> {
  try {
    if ((await threads.header(threadId)).turns > 0) return false;
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
