/** Signals, updates and queries of a run. Registered before anything else; handlers only note, the loop acts. */
import { ApplicationFailure, defineQuery, defineSignal, defineUpdate, setHandler } from '@temporalio/workflow';
import type { LiveEvent } from '../contract/live-events.js';
import { CANCEL, LIVE_SIGNAL, READ_CONTEXT, READ_LOG, SNAPSHOT } from '../contract/names.js';
import { makePage } from '../contract/pages.js';
import type { Page, PageRequest } from '../contract/pages.js';
import type { CancelRequest, LogPage, LogPageRequest } from '../contract/queries.js';
import type { CancelReason, Cancellation } from '../contract/run.js';
import { projectSnapshot } from '../contract/snapshot.js';
import type { RunSnapshot } from '../contract/snapshot.js';
import type { Run } from './run-state.js';
import { interrupt } from './settle.js';

const REASONS: readonly CancelReason[] = ['user_requested', 'parent_canceled', 'deadline', 'thread_deleted', 'engine'];

export function registerHandlers(run: Run): void {
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

/** False when a cancel was asked for before: the first reason stands. */
export function requestCancel(run: Run, cancellation: Cancellation): boolean {
  if (run.cancellation !== undefined) return false;
  run.cancellation = cancellation;
  interrupt(run);
  return true;
}

function readContext(run: Run, request: PageRequest): Page {
  const { transcript } = run.log;
  return makePage(
    transcript.length + 1,
    (index) => JSON.stringify(index === 0 ? (run.pinned?.spec ?? null) : transcript[index - 1]),
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
