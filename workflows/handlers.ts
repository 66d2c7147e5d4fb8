/** Signals, updates and queries of a run. Registered before anything else; handlers only note, the loop acts. */
import {
  ApplicationFailure,
  currentUpdateInfo,
  defineQuery,
  defineSignal,
  defineUpdate,
  setHandler,
} from '@temporalio/workflow';
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
import { projectSnapshot } from '../contract/snapshot.js';
import type { RunSnapshot } from '../contract/snapshot.js';
import { accept, refusal } from './awaits.js';
import { noteChildAwait } from './child-awaits.js';
import { lastCompaction } from './compact-context.js';
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
  for (const [name, { kind, description }] of Object.entries(ANSWERS)) registerAnswer(run, name, kind, description);
  setHandler(defineSignal<[ChildAwaitNotice]>(CHILD_AWAIT), (notice) => noteChildAwait(run, notice), {
    description: 'From a child run: it pauses for someone, or goes on',
  });
  setHandler(
    defineUpdate<{ run_id: string; already_requested: boolean }, [request?: CancelRequest]>(CANCEL),
    (request?: CancelRequest) => ({
      run_id: run.handle.run_id,
      already_requested: !requestCancel(run, toCancellation(request)),
    }),
    { validator: refuseUnknownReason, description: 'Stop the run: {"reason": "user_requested", "note": "…"}' },
  );
  setHandler(
    defineSignal<[request?: CancelRequest]>(CANCEL),
    (request) => void requestCancel(run, toCancellation(request)),
    { description: 'The same as the update, without an answer' },
  );
  setHandler(
    defineSignal<[LiveEvent[]]>(LIVE_SIGNAL),
    (events) => {
      if (Array.isArray(events)) run.live.add(events);
    },
    { description: 'Live deltas of an open block (the temporal channel)' },
  );
  setHandler(
    defineQuery<LogPage, [request?: LogPageRequest]>(READ_LOG),
    (request) => ({
      ...run.log.page(request ?? { from: 0 }),
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

function registerAnswer(run: Run, name: string, kind: AwaitKind, description: string): void {
  setHandler(
    defineUpdate<{ run_id: string }, [answer: unknown]>(name),
    (answer: unknown) => {
      const id = currentUpdateInfo()?.id;
      if (id === undefined || !run.taken.includes(id)) accept(run, kind, answer);
      if (id !== undefined) run.taken.push(id);
      return { run_id: run.handle.run_id };
    },
    {
      validator(answer: unknown) {
        const id = currentUpdateInfo()?.id;
        if (id !== undefined && run.taken.includes(id)) return;
        const why = refusal(run, kind, answer);
        if (why !== undefined) throw ApplicationFailure.nonRetryable(`Answer refused: ${why}`, 'invalid_request');
      },
      description,
    },
  );
  setHandler(
    defineSignal<[answer: unknown]>(name),
    (answer: unknown) => {
      const why = refusal(run, kind, answer);
      if (why === undefined) {
        accept(run, kind, answer);
        return;
      }
      const await_id = (answer as { await_id?: unknown } | null | undefined)?.await_id;
      // The log of a run that has ended is closed.
      if (run.log.ended()) return;
      run.log.append({ type: 'answer_rejected', ...(typeof await_id === 'string' ? { await_id } : {}), reason: why });
    },
    { description },
  );
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
  return { reason, ...(typeof request?.note === 'string' ? { note: request.note } : {}) };
}

function refuseUnknownReason(request?: CancelRequest): void {
  const reason = request?.reason;
  if (reason === undefined || REASONS.some((known) => known === reason)) return;
  throw ApplicationFailure.nonRetryable(
    `Cancel refused: reason ${JSON.stringify(reason)} is unknown. Use one of ${REASONS.join(', ')}, or none.`,
    'invalid_request',
  );
}
