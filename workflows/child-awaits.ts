/**
 * Pauses seen from above: a child tells its parent, the parent notes it and tells its own, up to the root.
 *
 * P1  A child's pause is noted after its `agent_run_started`, and all that are open are over before its result.
 * P2  One notice per workflow task at most: what opens and closes, and whether the child waits for people only.
 */
import { condition, getExternalWorkflowHandle } from '@temporalio/workflow';
import type { ChildAwaitChange, ChildAwaitNotice } from '../contract/awaits.js';
import { childRunId, stepIdOfCall } from '../contract/ids.js';
import { CHILD_AWAIT } from '../contract/names.js';
import { TOLD_AT_ONCE } from '../contract/pause-text.js';
import { isPaused } from './clock.js';
import type { Clock } from './clock.js';
import type { RunPage } from './run-page.js';
import type { Run } from './run-state.js';
import type { BatchCall } from './tool-batch.js';

/** Signals come before the events of the same task that they follow: they are only kept here. */
export function noteChildAwait(run: Run, notice: ChildAwaitNotice): void {
  if (!run.log.ended() && isNotice(notice)) run.inbox.push(notice);
}

/** A child has ended: what it did not live to tell. */
export function closeChildAwaits(run: Run, childId: string): void {
  run.paused_children.delete(childId);
  for (const { link, await_id, kind } of run.child_awaits.get(childId) ?? [])
    change(run, childId, { link, await_id, kind, state: 'resolved', resolution: 'canceled' });
  run.child_awaits.delete(childId);
}

/**
 * Keeps the clock and the parent up to date for as long as the run is at work. It looks when a task has run its
 * course, so that a batch that asks and works at once is never taken for one that only asks.
 */
export function watchPauses(run: Run, clock: Clock, page: RunPage): () => void {
  let over = false;
  let paused = isPaused(run);
  void (async () => {
    for (;;) {
      await condition(
        () =>
          over ||
          run.outbox.length > 0 ||
          isPaused(run) !== paused ||
          run.inbox.some((notice) => !isEarly(run, notice)),
      );
      if (over) return;
      takeNotices(run);
      const news = isPaused(run) !== paused || run.outbox.length > 0;
      paused = isPaused(run);
      clock.update();
      page.pauseChanged();
      const changes = run.outbox.splice(0);
      if (news) tellParent(run, { via: run.handle.run_id, paused, changes: bounded(run, changes) });
    }
  })();
  return () => {
    over = true;
  };
}

/** A notice that is too large is not taken at all, so what many pauses say is left to their runs. */
function bounded(run: Run, changes: ChildAwaitChange[]): ChildAwaitChange[] {
  return changes.map(({ asks, answer, ...change }, n) => {
    if (n < TOLD_AT_ONCE)
      return { ...change, ...(asks === undefined ? {} : { asks }), ...(answer === undefined ? {} : { answer }) };
    if (asks === undefined) return change;
    const { digest, ...about } = asks;
    // A thread shows the calls of its turn's own run from the log of that.
    const isShown = digest !== undefined && run.turn !== undefined && change.link.run_id === run.handle.run_id;
    return { ...change, asks: { ...about, text: '', ...(isShown ? { digest } : {}) } };
  });
}

/** A run that ends or continues as new takes signals with it that are not yet on their way. */
export async function allTold(run: Run): Promise<void> {
  await condition(() => run.outbox.length === 0 && run.sending === 0);
}

function takeNotices(run: Run): void {
  for (const notice of run.inbox.splice(0)) {
    const { via, paused, changes } = notice;
    if (isEarly(run, notice)) run.inbox.push(notice);
    // One can arrive after the child's end.
    if (callOf(run, via)?.started !== true || callOf(run, via)?.closed === true) continue;
    const open = run.child_awaits.get(via) ?? [];
    for (const news of changes) {
      const at = open.findIndex(({ link, await_id }) => link.run_id === news.link.run_id && await_id === news.await_id);
      if (at === -1 && news.state === 'open') open.push(news);
      else if (at !== -1 && news.state === 'resolved') open.splice(at, 1);
      else continue;
      change(run, via, news);
    }
    run.child_awaits.set(via, open);
    if (paused) run.paused_children.add(via);
    else run.paused_children.delete(via);
  }
}

/** `via` is the child of this run, whichever run below it waits. */
function change(run: Run, via: string, told: ChildAwaitChange): void {
  const { link, await_id, kind, state, asks, rules, resolution, answer } = told;
  const shown = {
    link,
    await_id,
    kind,
    state,
    ...(asks === undefined ? {} : { asks }),
    ...(answer === undefined ? {} : { answer }),
  };
  run.log.append({ type: 'child_await_changed', ...idsOf(callOf(run, via)), ...shown });
  run.outbox.push({
    ...shown,
    ...(rules === undefined ? {} : { rules }),
    ...(resolution === undefined ? {} : { resolution }),
  });
}

/** Its child is there, but the event that says so comes later in the same task. */
function isEarly(run: Run, { via }: ChildAwaitNotice): boolean {
  const call = callOf(run, via);
  return call !== undefined && call.started !== true && call.closed !== true;
}

function callOf(run: Run, childId: string): BatchCall | undefined {
  return run.batch?.calls.find((call) => childRunId(run.handle.run_id, call.tool_call_id) === childId);
}

function idsOf(call: BatchCall | undefined): { step_id?: string; tool_id?: string; tool_call_id?: string } {
  if (call === undefined) return {};
  const step_id = stepIdOfCall(call.tool_call_id);
  return {
    ...(step_id === undefined ? {} : { step_id }),
    tool_id: call.name,
    tool_call_id: call.tool_call_id,
  };
}

function tellParent(run: Run, notice: ChildAwaitNotice): void {
  const parent = run.handle.parent_run_id ?? (run.turn === undefined ? undefined : run.handle.thread_id);
  if (parent === undefined) return;
  run.sending += 1;
  getExternalWorkflowHandle(parent)
    .signal(CHILD_AWAIT, notice)
    // A parent that is gone needs no notice.
    .catch(() => {})
    .finally(() => (run.sending -= 1));
}

/** Anyone can send a signal. */
export function isNotice(value: unknown): value is ChildAwaitNotice {
  const { via, paused, changes } = (value ?? {}) as Partial<ChildAwaitNotice>;
  return typeof via === 'string' && typeof paused === 'boolean' && Array.isArray(changes) && changes.every(isChange);
}

function isChange(value: unknown): value is ChildAwaitChange {
  const { link, await_id, kind, state, asks, answer = '', rules = [] } = (value ?? {}) as Partial<ChildAwaitChange>;
  const { text, tool_call_id = '', digest = '', expires_at = '' } = asks ?? { text: '' };
  const texts = [link?.run_id, link?.agent_id, link?.stream_key, await_id, text, tool_call_id, digest, expires_at];
  return (
    [...texts, answer].every((field) => typeof field === 'string') &&
    Array.isArray(rules) &&
    rules.every((rule) => isListOfTexts(rule?.answers) && isListOfTexts(rule?.approvals)) &&
    (kind === 'clarification' || kind === 'external_tools' || kind === 'approval') &&
    (state === 'open' || state === 'resolved')
  );
}

function isListOfTexts(value: unknown): boolean {
  return value === undefined || (Array.isArray(value) && value.every((each) => typeof each === 'string'));
}
