/**
 * One turn: a child run that answers the user's message, and what it leaves in the thread.
 *
 * U1  However the run ends, the turn ends: what was said is kept, and where there is no answer an error says why.
 * U2  The run is given the length and the digest of the conversation, never the conversation.
 */
import {
  ChildWorkflowCancellationType,
  condition,
  ParentClosePolicy,
  proxyActivities,
  startChild,
  WorkflowIdReusePolicy,
} from '@temporalio/workflow';
import type { CollectedTurn, OpenedThread, ThreadActivities } from '../../contract/activities.js';
import { CANCEL, MEMO, RUN_WORKFLOW } from '../../contract/names.js';
import { inherited } from '../../contract/principal.js';
import type { RunOutcome, RunOutput, RunRequest } from '../../contract/run.js';
import { compactionOf } from '../../contract/thread-context.js';
import { endTurn } from '../../contract/thread-projection.js';
import type { AgentMessage } from '../../contract/thread-records.js';
import { takeNews } from '../../contract/tool-state.js';
import { beginTurnMessages } from '../../contract/turn-messages.js';
import { summaryLine } from '../../contract/ui-markdown.js';
import { failure } from '../run-failure.js';
import { keepUnheard } from './answer-pauses.js';
import { addMessage, compactThread, goalsChanged, setStatus } from './change-thread.js';
import type { Thread, Turn } from './thread-state.js';

export async function runTurn(thread: Thread, opened: OpenedThread, turn: Turn): Promise<void> {
  turn.started = true;
  const outcome = await answer(thread, opened, turn);
  // A deleted thread takes nothing more.
  const nothing: CollectedTurn = { messages: [], goals: [] };
  const collected = thread.deleted ? nothing : await collect(thread, turn, outcome);
  thread.turn = undefined;
  thread.pending = [];
  thread.given = [];
  thread.pauses = [];
  thread.holding = [];
  if (thread.deleted) return;
  for (const message of collected.messages) addMessage(thread, message);
  const { compacted } = collected;
  if (compacted !== undefined) {
    const { prefix, message_sequence_num: asked } = turn;
    compactThread(thread, compactionOf(thread.context, { length: prefix.length, asked }, compacted));
  }
  const failedGoals = concludeGoals(thread, turn, collected.goals);
  keepUnheard(thread, turn);
  // A message that waits begins the next turn at once: nobody is told in between that it is theirs.
  if (thread.queue.length > 0) return;
  setStatus(thread, outcome.status === 'success' && failedGoals ? 'goals_failed' : 'user_turn');
}

async function answer(thread: Thread, opened: OpenedThread, turn: Turn): Promise<RunOutcome> {
  const { org_id, created_by, agent_id } = opened.request;
  try {
    const child = await startChild<(request: unknown) => Promise<RunOutput>>(RUN_WORKFLOW, {
      workflowId: turn.run_id,
      args: [requestOf(thread, opened, turn)],
      cancellationType: ChildWorkflowCancellationType.WAIT_CANCELLATION_COMPLETED,
      parentClosePolicy: ParentClosePolicy.REQUEST_CANCEL,
      workflowIdReusePolicy: WorkflowIdReusePolicy.REJECT_DUPLICATE,
      staticSummary: summaryLine(`${agent_id}: ${turn.input}`),
      memo: {
        ...(org_id === undefined ? {} : { [MEMO.org_id]: org_id }),
        ...(created_by === undefined ? {} : { [MEMO.created_by]: created_by }),
      },
    });
    let ended: { output: RunOutput } | { error: unknown } | undefined;
    child.result().then(
      (output) => (ended = { output }),
      (error: unknown) => (ended = { error }),
    );
    await condition(() => ended !== undefined || turn.cancellation !== undefined);
    // One that ends in this moment cannot be told any more.
    if (ended === undefined) await child.signal(CANCEL, turn.cancellation).catch(() => {});
    await condition(() => ended !== undefined);
    const end = ended as unknown as { output: RunOutput } | { error: unknown };
    if ('error' in end) throw end.error;
    const { tool_state, ...outcome } = end.output;
    if (tool_state !== undefined) takeNews((thread.tool_state ??= {}), tool_state);
    return outcome;
  } catch (error) {
    const why = error instanceof Error ? (error.cause instanceof Error ? error.cause : error).message : String(error);
    const debug = `run ${turn.run_id} of thread ${thread.thread_id} ended without an end of its own: ${why}`;
    return { status: 'failed', phase: 'failed', failure: failure('internal', debug) };
  }
}

function requestOf(thread: Thread, opened: OpenedThread, turn: Turn): RunRequest {
  const { agent_id, model_profile, signal_live, system_prompt } = opened.request;
  const { analysis_scope, client_context } = turn;
  return {
    agent_id,
    input: turn.input,
    thread_id: thread.thread_id,
    ...(model_profile == null ? {} : { model_profile }),
    ...inherited(opened.request),
    ...(signal_live === undefined ? {} : { signal_live }),
    ...(turn.client_tools.length === 0 ? {} : { client_tools: turn.client_tools }),
    ...(turn.goals.length === 0 ? {} : { goals: turn.goals }),
    ...(thread.tool_state === undefined ? {} : { tool_state: thread.tool_state }),
    thread: {
      turn: turn.number,
      ...turn.prefix,
      ...(system_prompt == null ? {} : { system_prompt }),
      ...(analysis_scope === undefined ? {} : { analysis_scope }),
      ...(client_context === undefined ? {} : { client_context }),
    },
  };
}

async function collect(thread: Thread, turn: Turn, outcome: RunOutcome): Promise<CollectedTurn> {
  const { collectTurn } = proxyActivities<ThreadActivities>({
    startToCloseTimeout: 60_000,
    heartbeatTimeout: 10_000,
    retry: { maximumAttempts: 5 },
    summary: summaryLine(`messages of turn ${turn.number}`),
  });
  const at = new Date().toISOString();
  const { thread_id } = thread;
  try {
    return await collectTurn({ thread_id, run_id: turn.run_id, lost: outcome, at });
  } catch {
    // Its log cannot be read. What its end says is all there is, and the thread goes on with that.
    return { messages: atLeast(thread_id, outcome, at), goals: [] };
  }
}

function atLeast(threadId: string, outcome: RunOutcome, at: string): AgentMessage[] {
  const messages = beginTurnMessages(threadId);
  if (outcome.status !== 'success') endTurn(messages, outcome, at);
  else {
    const content = [{ content_type: 'text' as const, text: outcome.answer }];
    messages.messages.push({ role: 'assistant', content, status: 'completed', created: at });
  }
  return messages.messages;
}

/** True when one of them failed. Every goal of a turn that is over is concluded. */
function concludeGoals(thread: Thread, turn: Turn, concluded: CollectedTurn['goals']): boolean {
  const own = thread.goals.filter((goal) => goal.turn === turn.number);
  for (const [index, goal] of own.entries()) {
    const end = concluded.find((candidate) => candidate.goal_id === `goal_${index + 1}`);
    goal.status = end?.status ?? 'failed';
    goal.concluded_at = end?.at ?? new Date().toISOString();
    if (end?.tool_use_id !== undefined) goal.achieve_tool_use_id = end.tool_use_id;
  }
  if (own.length > 0) goalsChanged(thread);
  return own.some((goal) => goal.status === 'failed');
}
