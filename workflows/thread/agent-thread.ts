/**
 * The thread workflow: a conversation that outlives its runs. Its id is the `thread_id`; each turn is a child run.
 *
 * H1  The thread carries its own records: closed turns may vanish with the retention.
 * H2  It continues as new between turns only, so that no run is ever orphaned, with messages that wait.
 * H3  Deleted is for good: the workflow ends, its record is gone, and nothing is taken any more.
 * H4  A cancel of the workflow is a cancel of its turn; what ends a thread is `delete`.
 */
import {
  allHandlersFinished,
  ApplicationFailure,
  CancellationScope,
  condition,
  continueAsNew,
  proxyActivities,
  workflowInfo,
} from '@temporalio/workflow';
import type { OpenedThread, ThreadActivities } from '../../contract/activities.js';
import { betweenTexts, emptyContext } from '../../contract/thread-context.js';
import type { ThreadRequest } from '../../contract/thread-request.js';
import { checkRevision, REVISION } from '../patches.js';
import { engineMessage, failureOf } from '../run-failure.js';
import { declareTools } from './client-tools.js';
import { addMessage, addSpoken, beginTurn, compactThread, setStatus, setTitle } from './change-thread.js';
import { runTurn } from './run-turn.js';
import { writeTitle } from './write-title.js';
import { cancelTurn } from './show-waiting.js';
import { registerThreadHandlers } from './thread-handlers.js';
import { createThreadPageView } from './thread-page.js';
import { isFull, refuseQueued } from './thread-room.js';
import { beginThread, carryThread, resumeThread } from './thread-state.js';
import type { CarriedThread, Thread } from './thread-state.js';

export interface ThreadOutput {
  version: 1;
  thread_id: string;
  status: 'deleted';
}

export async function agentThread(request: unknown, carried?: CarriedThread): Promise<ThreadOutput> {
  if (carried !== undefined && carried.version !== 1) {
    const version = String((carried as { version: unknown }).version);
    const why = `state of version ${version} was carried here; this worker knows version 1`;
    throw ApplicationFailure.nonRetryable(why, 'unknown_version');
  }
  checkRevision(carried?.opened.revision);
  const thread = carried === undefined ? beginThread(request) : resumeThread(carried);
  registerThreadHandlers(thread);
  CancellationScope.current().cancelRequested.catch(() => cancelTurn(thread, { reason: 'user_requested' }));
  return CancellationScope.nonCancellable(() => converse(thread, request));
}

async function converse(thread: Thread, raw: unknown): Promise<ThreadOutput> {
  const page = createThreadPageView(thread);
  thread.page = page;
  const opened = thread.opened ?? (await open(thread, raw));
  checkRevision(opened.revision);
  for (;;) {
    takeNext(thread);
    page.show();
    await condition(() => thread.deleted || thread.turn !== undefined || isDue(thread, opened));
    if (isDue(thread, opened) && !thread.deleted) await continueLater(thread, opened);
    if (thread.turn !== undefined && !thread.deleted) {
      page.show();
      const { message_sequence_num } = thread.turn;
      await runTurn(thread, opened, thread.turn);
      writeTitle(thread, opened, message_sequence_num);
    }
    if (thread.deleted) return end(thread, page.show);
  }
}

/** The next of the messages that wait. */
function takeNext(thread: Thread): void {
  while (thread.turn === undefined && !thread.deleted) {
    const next = thread.queue.shift();
    if (next === undefined) return;
    if (isFull(thread)) refuseQueued(thread, next);
    else beginTurn(thread, next);
  }
}

async function open(thread: Thread, request: unknown): Promise<OpenedThread> {
  const { openThread } = proxyActivities<ThreadActivities>({
    startToCloseTimeout: 10_000,
    retry: { maximumAttempts: 5 },
    summary: 'open the thread',
  });
  try {
    const opened = await openThread({ thread_id: thread.thread_id, request, revision: REVISION });
    thread.opened = opened;
    thread.context = emptyContext(betweenTexts(opened.revision));
    begin(thread, opened.request);
    return opened;
  } catch (error) {
    const failure = failureOf(error);
    throw ApplicationFailure.nonRetryable(engineMessage(failure), failure.code);
  }
}

/** The messages that a thread begins with: of the one it was forked from, and those of its request. */
function begin(thread: Thread, request: ThreadRequest): void {
  const { messages, forked_from, title } = request;
  for (const message of forked_from?.messages ?? []) addMessage(thread, message);
  if (forked_from?.compaction !== undefined) compactThread(thread, forked_from.compaction);
  if (title !== undefined) setTitle(thread, title);
  for (const message of messages.slice(0, -1)) addSpoken(thread, message);
  const last = messages.at(-1);
  const { goals, client_tools, client_context, analysis_scope } = request;
  if (client_tools != null) declareTools(thread, client_tools);
  if (analysis_scope != null) thread.analysis_scope = analysis_scope;
  const about = { ...(goals == null ? {} : { goals }), ...(client_context == null ? {} : { client_context }) };
  if (last !== undefined) beginTurn(thread, { message: last, ...about });
  else if (thread.messages.length > 0) setStatus(thread, 'user_turn');
}

/** A title that is being written would be lost. It takes a bounded time, and turns go on meanwhile. */
function isDue(thread: Thread, { runtime }: OpenedThread): boolean {
  if (thread.titling) return false;
  const { continueAsNewSuggested, historyLength } = workflowInfo();
  const threshold = runtime.continue_as_new_after_events;
  return continueAsNewSuggested || (threshold !== undefined && historyLength >= threshold);
}

/** Returns when it was deleted meanwhile. */
async function continueLater(thread: Thread, opened: OpenedThread): Promise<void> {
  await condition(allHandlersFinished);
  if (thread.deleted) return;
  const { agent_id, org_id, created_by } = opened.request;
  const about = {
    agent_id,
    ...(org_id === undefined ? {} : { org_id }),
    ...(created_by === undefined ? {} : { created_by }),
  };
  await continueAsNew<(raw: unknown, carried: CarriedThread) => Promise<unknown>>(about, carryThread(thread, opened));
}

async function end(thread: Thread, show: () => void): Promise<ThreadOutput> {
  thread.messages.length = 0;
  thread.context = emptyContext();
  thread.held_bytes = 0;
  delete thread.compaction;
  thread.goals = [];
  thread.title = null;
  show();
  await condition(allHandlersFinished);
  return { version: 1, thread_id: thread.thread_id, status: 'deleted' };
}
