/** What the open turn waits for: results of the client's tools, and questions and approvals. */
import { patched } from '@temporalio/workflow';
import type { ChildAwaitChange, ChildAwaitNotice, ToolResultsAnswer } from '../../contract/awaits.js';
import type { OpenPause, PendingToolUse, SubmitCommand, ToolUseResult } from '../../contract/thread-commands.js';
import { malformedResults } from '../../contract/thread-commands.js';
import { toolUseId } from '../../contract/thread-ids.js';
import { isNotice } from '../child-awaits.js';
import { THREAD_PAUSES } from '../patches.js';
import { checkTheirs, confirmAnswer } from './answer-pauses.js';
import { holdPauses, noteHolding } from './hold-pauses.js';
import { showWaiting } from './show-waiting.js';
import type { Thread } from './thread-state.js';

export function noteAwaits(thread: Thread, notice: ChildAwaitNotice): void {
  // Anyone can send a signal; and one can come after the turn's end.
  const { turn } = thread;
  if (turn === undefined || !isNotice(notice) || notice.via !== turn.run_id) return;
  for (const change of notice.changes) {
    const { link, await_id, kind, state, calls, rules } = change;
    const { run_id } = link;
    const isOther = (open: { run_id: string; await_id: string }) =>
      open.run_id !== run_id || open.await_id !== await_id;
    thread.pending = thread.pending.filter(isOther);
    thread.given = thread.given.filter(isOther);
    thread.pauses = thread.pauses.filter(isOther);
    noteHolding(thread, turn, change);
    if (state !== 'open') confirmAnswer(thread, change);
    if (state !== 'open') continue;
    if (kind !== 'external_tools' || !Array.isArray(calls)) thread.pauses.push(pauseOf(thread, change));
    else
      for (const { tool_call_id } of calls) {
        const tool_use_id = toolUseId(thread.thread_id, run_id, tool_call_id);
        thread.pending.push({
          tool_use_id,
          run_id,
          tool_call_id,
          await_id,
          ...(rules === undefined ? {} : { rules }),
        });
      }
  }
  holdPauses(thread, turn);
  showWaiting(thread);
}

function pauseOf(thread: Thread, { link, await_id, kind, asks, rules }: ChildAwaitChange): OpenPause {
  const { run_id } = link;
  const { tool_call_id, digest } = asks ?? {};
  const pause = { run_id, await_id, kind };
  if (kind === 'external_tools' || tool_call_id === undefined || !patched(THREAD_PAUSES)) return pause;
  const tool_use_id = toolUseId(thread.thread_id, run_id, tool_call_id);
  return {
    ...pause,
    asked: { tool_use_id, ...(digest === undefined ? {} : { digest }) },
    ...(rules === undefined ? {} : { rules }),
  };
}

/** Why the results cannot be taken; undefined when they can. */
export function refusedResults(thread: Thread, command: unknown): string | undefined {
  const shape = malformedResults(command);
  if (shape !== undefined) return shape;
  const { tool_results } = command as SubmitCommand;
  const ids = tool_results.map((result) => result.tool_use_id);
  const pending = thread.pending.map((use) => use.tool_use_id);
  const foreign = ids.find((id) => !pending.includes(id));
  if (foreign !== undefined) {
    const list = pending.length === 0 ? 'Nothing is pending' : `Pending: ${pending.join(', ')}`;
    return `${foreign.slice(0, 200)} does not wait for a result: it has one already, or was never asked of the client. ${list}`;
  }
  return new Set(ids).size < ids.length ? 'a tool use is answered twice' : undefined;
}

/** Throws where one of them is not theirs to give. */
export function checkGiver(thread: Thread, { tool_results, by }: SubmitCommand): void {
  for (const { tool_use_id } of tool_results) {
    const use = thread.pending.find((candidate) => candidate.tool_use_id === tool_use_id);
    // A run of 0.7 told nothing of its rules, and checks them itself.
    if (use?.rules !== undefined) checkTheirs(thread, use.rules, 'answers', by);
  }
}

export interface Forward {
  run_id: string;
  answer: ToolResultsAnswer;
}

/** Takes results that were not refused: from here on they are not pending. What is to be told to which run. */
export function takeResults(thread: Thread, { tool_results, by, answered_by }: SubmitCommand): Forward[] {
  const whose = { ...(by === undefined ? {} : { by }), ...(answered_by === undefined ? {} : { answered_by }) };
  const byAwait = new Map<string, Forward>();
  for (const result of tool_results) {
    const use = thread.pending.find((candidate) => candidate.tool_use_id === result.tool_use_id);
    if (use === undefined) continue;
    const key = `${use.run_id} ${use.await_id}`;
    const forward = byAwait.get(key) ?? {
      run_id: use.run_id,
      answer: { await_id: use.await_id, results: [], ...whose },
    };
    forward.answer.results.push(toResult(use, result));
    byAwait.set(key, forward);
  }
  const taken = new Set(tool_results.map((result) => result.tool_use_id));
  thread.given.push(...thread.pending.filter((use) => taken.has(use.tool_use_id)));
  thread.pending = thread.pending.filter((use) => !taken.has(use.tool_use_id));
  showWaiting(thread);
  return [...byAwait.values()];
}

function toResult({ tool_call_id }: PendingToolUse, { status, output, runtime_ms }: ToolUseResult) {
  return {
    tool_call_id,
    status,
    ...(output === undefined ? {} : { output }),
    ...(runtime_ms === undefined ? {} : { runtime_ms }),
  };
}
