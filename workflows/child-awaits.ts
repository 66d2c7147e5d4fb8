/**
 * Pauses seen from above: a child tells its parent, the parent notes it and tells its own, up to the root.
 *
 * P1  A child's pause is noted after its `agent_run_started`, and all that are open are over before its result.
 * P2  One notice per workflow task at most: what opens and closes, and whether the child waits for people only.
 */
import { condition, getExternalWorkflowHandle } from '@temporalio/workflow';
import type { ChildAwaitChange, ChildAwaitNotice } from '../contract/awaits.js';
import { childRunId } from '../contract/ids.js';
import { CHILD_AWAIT } from '../contract/names.js';
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
  for (const open of run.child_awaits.get(childId) ?? []) change(run, { ...open, state: 'resolved' });
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
      page.refresh();
      const changes = run.outbox.splice(0);
      if (news) tellParent(run, { via: run.handle.run_id, paused, changes });
    }
  })();
  return () => {
    over = true;
  };
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
      change(run, news);
    }
    run.child_awaits.set(via, open);
    if (paused) run.paused_children.add(via);
    else run.paused_children.delete(via);
  }
}

function change(run: Run, { link, await_id, kind, state }: ChildAwaitChange): void {
  run.log.append({ type: 'child_await_changed', link, await_id, kind, state });
  run.outbox.push({ link, await_id, kind, state });
}

/** Its child is there, but the event that says so comes later in the same task. */
function isEarly(run: Run, { via }: ChildAwaitNotice): boolean {
  const call = callOf(run, via);
  return call !== undefined && call.started !== true && call.closed !== true;
}

function callOf(run: Run, childId: string): BatchCall | undefined {
  return run.batch?.calls.find((call) => childRunId(run.handle.run_id, call.tool_call_id) === childId);
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
  const { link, await_id, kind, state } = (value ?? {}) as Partial<ChildAwaitChange>;
  return (
    [link?.run_id, link?.agent_id, link?.stream_key, await_id].every((field) => typeof field === 'string') &&
    (kind === 'clarification' || kind === 'external_tools' || kind === 'approval') &&
    (state === 'open' || state === 'resolved')
  );
}
