/** Commands, signals and queries of a run. Registered before anything else; handlers only note, the loop acts. */
import { ApplicationFailure, defineQuery, defineSignal, patched, setHandler, workflowInfo } from '@temporalio/workflow';
import type { AwaitKind, ChildAwaitNotice } from '../contract/awaits.js';
import type { LiveEvent } from '../contract/live-events.js';
import {
  ANSWER_CLARIFICATION,
  CANCEL,
  CHILD_AWAIT,
  DECIDE_APPROVAL,
  LIVE_SIGNAL,
  READ_CONTEXT,
  READ_LOG,
  SNAPSHOT,
  SUBMIT_TOOL_RESULTS,
} from '../contract/names.js';
import { ownMessages } from '../contract/compaction.js';
import { makePage } from '../contract/pages.js';
import type { Page, PageRequest } from '../contract/pages.js';
import type { CancelRequest, LogPage, LogPageRequest } from '../contract/queries.js';
import type { CancelReason, Cancellation } from '../contract/run.js';
import { cutText, oversized, TEXT_LIMITS, utf8Bytes } from '../contract/sizes.js';
import { projectSnapshot } from '../contract/snapshot.js';
import type { RunSnapshot } from '../contract/snapshot.js';
import { accept, notTheirs, refusal } from './awaits.js';
import { noteChildAwait } from './child-awaits.js';
import { registerCommands } from './commands.js';
import type { Command } from './commands.js';
import { lastCompaction } from './compact-context.js';
import { BOUNDED_TEXTS } from './patches.js';
import type { Run } from './run-state.js';
import { interrupt } from './settle.js';

const REASONS: readonly CancelReason[] = ['user_requested', 'parent_canceled', 'deadline', 'thread_deleted', 'engine'];

const ANSWERS: Record<string, { kind: AwaitKind; description: string }> = {
  [ANSWER_CLARIFICATION]: { kind: 'clarification', description: 'Answer a question: {"await_id": "…", "answer": "…"}' },
  [SUBMIT_TOOL_RESULTS]: {
    kind: 'external_tools',
    description: 'Results of your tools: {"results": [{"tool_call_id": "…", "status": "success", "output": "…"}]}',
  },
  [DECIDE_APPROVAL]: {
    kind: 'approval',
    description: 'Approve or deny a call: {"await_id": "…", "decision": "approve", "digest": "…"}',
  },
};

export function registerHandlers(run: Run): void {
  const takeNotice = (notice: ChildAwaitNotice) => {
    if (bounded(notice).why === undefined) noteChildAwait(run, notice);
  };
  const answers = Object.entries(ANSWERS).map(([name, { kind, description }]): [string, Command<unknown>] => {
    setHandler(defineSignal<[answer: unknown]>(name), (sent) => takeAnswer(run, kind, sent), { description });
    return [name, answerCommand(run, kind, description)];
  });
  const cancel: Command<CancelRequest | undefined> = {
    check: refuseCancel,
    take: (request) => ({
      run_id: run.handle.run_id,
      already_requested: !requestCancel(run, toCancellation(request)),
    }),
    description: 'Stop the run: {"reason": "user_requested", "note": "…"}',
  };
  registerCommands({ ...Object.fromEntries(answers), [CANCEL]: cancel }, run.outcomes);
  setHandler(defineSignal<[ChildAwaitNotice]>(CHILD_AWAIT), takeNotice, {
    description: 'From a child run: it pauses for someone, or goes on',
  });
  setHandler(
    defineSignal<[request?: CancelRequest]>(CANCEL),
    (request) => void requestCancel(run, toCancellation(request)),
    { description: 'The same as the update, without an answer' },
  );
  setHandler(defineSignal<[LiveEvent[]]>(LIVE_SIGNAL), (events) => run.live.add(events), {
    description: 'Live deltas of an open block (the temporal channel)',
  });
  setHandler(
    defineQuery<LogPage, [request?: LogPageRequest]>(READ_LOG),
    (request) => ({
      ...run.log.page(request ?? { from: 0 }),
      as_of: workflowInfo().historyLength,
      ended: run.log.ended(),
      signal_live: run.pinned?.spec.runtime.signal_live ?? false,
      ...run.live.read(request?.live_from ?? 0),
    }),
    { description: 'Events from a seq on, in pages: {"from": 0}' },
  );
  setHandler(
    defineQuery<Page, [request?: PageRequest]>(READ_CONTEXT),
    (request) => readContext(run, request ?? { from: 0 }),
    { description: 'The pinned agent (item 0) and the transcript (items 1, 2, …), in pages' },
  );
  setHandler(defineQuery<RunSnapshot | undefined>(SNAPSHOT), () => projectSnapshot(run.log.events), {
    description: 'Where the run stands: phase, steps, tools, usage',
  });
}

function answerCommand(run: Run, kind: AwaitKind, description: string): Command<unknown> {
  const isTaken = (id: string | undefined) => id !== undefined && run.taken.includes(id);
  return {
    check(answer, id) {
      if (isTaken(id)) return;
      refuseOversized(answer);
      const why = refusal(run, kind, answer);
      if (why !== undefined) throw ApplicationFailure.nonRetryable(`Answer refused: ${why}`, 'invalid_request');
      const whose = notTheirs(run, kind, answer);
      if (whose !== undefined) throw ApplicationFailure.nonRetryable(`Answer refused: ${whose}.`, 'forbidden');
    },
    take(answer, id) {
      if (!isTaken(id)) accept(run, kind, answer);
      if (id !== undefined) run.taken.push(id);
      return { run_id: run.handle.run_id };
    },
    description,
  };
}

/** By the signal of the same name, whose sender hears nothing: what is wrong with it is in the log. */
function takeAnswer(run: Run, kind: AwaitKind, sent: unknown): void {
  // The log of a run that has ended is closed.
  if (run.log.ended()) return;
  const { answer, why: tooLarge } = bounded(sent);
  const why = tooLarge ?? refusal(run, kind, answer) ?? notTheirs(run, kind, answer);
  if (why === undefined) {
    accept(run, kind, answer);
    return;
  }
  const await_id = (answer as { await_id?: unknown } | null | undefined)?.await_id;
  const isId = typeof await_id === 'string' && utf8Bytes(await_id) <= TEXT_LIMITS.await_id;
  run.log.append({ type: 'answer_rejected', ...(isId ? { await_id } : {}), reason: why });
}

/** What a signal brings, within bounds: a note is cut, and for all else that is too large there is a reason. */
function bounded(answer: unknown): { answer: unknown; why?: string } {
  if (oversized(answer) === undefined || !patched(BOUNDED_TEXTS)) return { answer };
  const { note } = answer as { note?: unknown };
  const cut = { ...(answer as object), ...(typeof note === 'string' ? { note: cutText(note, TEXT_LIMITS.note) } : {}) };
  const found = oversized(cut);
  return { answer: cut, ...(found === undefined ? {} : { why: `${found.field} ${found.message}.` }) };
}

/** Of an update. */
function refuseOversized(given: unknown): void {
  const found = oversized(given);
  if (found === undefined) return;
  throw ApplicationFailure.nonRetryable(`Refused: ${found.field} ${found.message}.`, 'input_too_large');
}

/** False when a cancel was asked for before: the first reason stands. */
export function requestCancel(run: Run, cancellation: Cancellation): boolean {
  if (run.cancellation !== undefined) return false;
  run.cancellation = cancellation;
  interrupt(run);
  return true;
}

function readContext(run: Run, request: PageRequest): Page {
  const messages = ownMessages(run.log.transcript, lastCompaction(run));
  return makePage(
    messages.length + 1,
    (index) => JSON.stringify(index === 0 ? (run.pinned?.spec ?? null) : messages[index - 1]),
    request,
  );
}

function toCancellation(request?: CancelRequest): Cancellation {
  const reason = REASONS.find((known) => known === request?.reason) ?? 'user_requested';
  return { reason, ...(typeof request?.note === 'string' ? { note: cutText(request.note, TEXT_LIMITS.note) } : {}) };
}

function refuseCancel(request?: CancelRequest): void {
  refuseOversized(request);
  const reason = request?.reason;
  if (reason === undefined || REASONS.some((known) => known === reason)) return;
  throw ApplicationFailure.nonRetryable(
    `Cancel refused: reason ${String(JSON.stringify(reason)).slice(0, 200)} is unknown. Use one of ${REASONS.join(', ')}, or none.`,
    'invalid_request',
  );
}
