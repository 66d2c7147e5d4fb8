/**
 * A batch of tool calls: admitted whole or refused whole, run in parallel (activities, children and pauses in one
 * race), and every call gets exactly one `tool_result`, whatever happens to it.
 */
import { condition, workflowInfo } from '@temporalio/workflow';
import type { CallToolResult } from '../contract/activities.js';
import type { RunLink } from '../contract/run.js';
import { failureText, toolFailure } from '../contract/tool-failure.js';
import type { ToolFailure, ToolSpec } from '../contract/tools.js';
import { admitBatch } from './admit-batch.js';
import { returnLease } from './budget.js';
import { runChild } from './child-run.js';
import { isPaused } from './clock.js';
import { achieveGoal } from './goals.js';
import type { RequestedCall, Step } from './model-step.js';
import { afterPeople } from './paused-call.js';
import { isSince2 } from './patches.js';
import { brokenCall } from './run-failure.js';
import type { RunPage } from './run-page.js';
import type { Pinned, Run, Stop } from './run-state.js';
import { failedCall, runTool } from './run-tool.js';
import { stoppedFailure } from './stopped-failure.js';

/** A call and what was decided about it; carried when the run continues as new in the middle of a pause. */
export interface BatchCall extends RequestedCall {
  /** It is answered with this and not made. */
  failure?: ToolFailure;
  debug_message?: string;
  needs_approval?: boolean;
  /** What the tool would be given, where that is not what the model wrote. */
  given_arguments?: string;
  /** The pause for its approval. */
  approval?: string;
  /** The pause for its answer. */
  await_id?: string;
  prompt?: string;
  concurrency_key?: string;
  started?: boolean;
  closed?: boolean;
}

export interface Batch {
  step: Step;
  calls: BatchCall[];
  /** Of its tools, as the workers measured them. */
  slowest_ms?: number;
  /** Its pause has continued as new: what is left of it costs nothing more. */
  continued?: boolean;
}

/** Of runs without a revision: a pause longer than this continues as new, once. */
const LONG_PAUSE_MS = 600_000;

/** The limit that refused the batch, if one did. */
export async function runBatch(
  run: Run,
  pinned: Pinned,
  page: RunPage,
  step: Step,
  requested: RequestedCall[],
  continueLater: () => Promise<void>,
): Promise<Stop | undefined> {
  const catalogue = catalogueOf(pinned);
  for (const call of requested) {
    run.log.append({
      type: 'tool_requested',
      ...idsOf(step, call, pinned),
      name: call.name,
      arguments: call.arguments,
      ...displayName(catalogue.get(call.name)),
      ...(call.provider_meta === undefined ? {} : { provider_meta: call.provider_meta }),
    });
  }
  const { calls, stop } = await admitBatch(run, pinned, step, requested);
  if (stop !== undefined) {
    for (const call of calls) closeCall(run, pinned, step, call, failedCall(call.failure as ToolFailure));
    return stop;
  }
  const open = calls.filter((call) => call.failure === undefined);
  for (const call of open) {
    if (call.approval !== undefined || call.await_id !== undefined) continue;
    const { timeout_ms } = catalogue.get(call.name) as ToolSpec;
    run.log.append({ type: 'tool_scheduled', ...idsOf(step, call, pinned), timeout_ms });
  }
  run.batch = { step, calls };
  await finishBatch(run, pinned, page, continueLater);
  return undefined;
}

/** Runs what is open of the batch, also after a continue-as-new. */
export async function finishBatch(
  run: Run,
  pinned: Pinned,
  page: RunPage,
  continueLater: () => Promise<void>,
): Promise<void> {
  const { batch } = run;
  if (batch === undefined) return;
  const { step, calls } = batch;
  const catalogue = catalogueOf(pinned);
  page.show();
  const turns = new Map<string, Promise<unknown>>();
  let finished = false;
  const all = Promise.all(
    calls
      .filter((call) => call.closed !== true)
      .map((call) => {
        const close = (result: CallToolResult) => {
          returnLease(run, call.tool_call_id);
          closeCall(run, pinned, step, call, result);
          page.refresh();
        };
        return settleCall(run, pinned, step, call, catalogue, turns).then(close, (error: unknown) => {
          const { failure, debug_message } = brokenCall(call.name, error);
          close(failedCall(failure, undefined, debug_message));
        });
      }),
  ).then(() => (finished = true));
  if (calls.some((call) => call.approval !== undefined || call.await_id !== undefined)) {
    await waitOutPauses(run, pinned, batch, () => finished, continueLater);
  }
  await all;
  run.worked_ms += batch.slowest_ms ?? 0;
  const failures = calls.filter((call) => call.failure !== undefined).length;
  run.counters.consecutive_failed = failures < calls.length ? 0 : run.counters.consecutive_failed + 1;
  run.batch = undefined;
}

/**
 * A pause that lasted goes on in a new part of the run, and so does one in which the history grew, once nothing else is
 * open: a child or a tool would be lost. While it lasts, nothing is written.
 */
async function waitOutPauses(
  run: Run,
  pinned: Pinned,
  batch: Batch,
  isFinished: () => boolean,
  continueLater: () => Promise<void>,
): Promise<void> {
  if (pinned.revision === undefined) return waitWithTimer(run, pinned, batch, isFinished, continueLater);
  const isFull = () => isPaused(run) && run.working === 0 && workflowInfo().continueAsNewSuggested;
  while (!isFinished()) {
    await condition(() => isFinished() || run.moving || isFull());
    if (isFinished()) return;
    await continueLater();
    run.moving = false;
    await condition(() => !isFull());
  }
}

/** As up to 0.4. */
async function waitWithTimer(
  run: Run,
  { spec }: Pinned,
  batch: Batch,
  isFinished: () => boolean,
  continueLater: () => Promise<void>,
): Promise<void> {
  const onlyPeople = () => isPaused(run) && run.working === 0 && !run.deadline_passed;
  while (!isFinished()) {
    await condition(() => isFinished() || onlyPeople());
    if (isFinished()) return;
    const goesOn = () => isFinished() || !onlyPeople();
    if (batch.continued === true) {
      await condition(() => goesOn() || workflowInfo().continueAsNewSuggested);
    } else {
      await condition(goesOn, spec.runtime.long_pause_ms ?? LONG_PAUSE_MS, { summary: 'a long pause' });
    }
    if (goesOn()) continue;
    batch.continued = true;
    await continueLater();
  }
}

function settleCall(
  run: Run,
  pinned: Pinned,
  step: Step,
  call: BatchCall,
  catalogue: Map<string, ToolSpec>,
  turns: Map<string, Promise<unknown>>,
): Promise<CallToolResult> {
  const tool = catalogue.get(call.name);
  if (call.failure !== undefined || tool === undefined) {
    const failure = call.failure ?? toolFailure('unavailable', `There is no tool "${call.name}".`);
    return Promise.resolve(failedCall(failure, undefined, call.debug_message));
  }
  const make = () =>
    inTurn(turns, call.concurrency_key, () => {
      if (run.cancellation !== undefined || run.deadline_passed)
        return Promise.resolve(failedCall(stoppedFailure(run)));
      return tool.kind === 'agent' ? runChild(run, pinned, step, call, tool) : runTool(run, pinned, step, call, tool);
    });
  const isPaused = call.approval !== undefined || call.await_id !== undefined;
  return isPaused ? afterPeople(run, pinned, step, call, tool, make) : make();
}

/** One after another, where the key is the same. */
function inTurn<T>(
  turns: Map<string, Promise<unknown>>,
  key: string | undefined,
  effect: () => Promise<T>,
): Promise<T> {
  if (key === undefined) return effect();
  const before = turns.get(key);
  const mine = (async () => {
    await before;
    return effect();
  })();
  turns.set(
    key,
    mine.catch(() => {}),
  );
  return mine;
}

function closeCall(
  run: Run,
  pinned: Pinned,
  step: Step,
  call: BatchCall,
  result: CallToolResult & { link?: RunLink },
): void {
  const ids = idsOf(step, call, pinned);
  call.closed = true;
  if (result.failure !== undefined) call.failure = result.failure;
  for (const note of result.progress) run.log.append({ type: 'tool_progress', ...ids, ...note });
  result.retries.forEach((reason, index) => {
    const attempt = index + 2;
    run.log.append({ type: 'tool_retry', ...ids, attempt, reason, live_id: `${call.tool_call_id}.retry_${attempt}` });
  });
  for (const text of result.notices ?? []) run.log.append({ type: 'notice_posted', ...ids, text });
  for (const file of result.files ?? []) run.log.append({ type: 'file_generated', ...ids, ...file });
  const outcome = {
    name: call.name,
    content: result.failure !== undefined && result.content === '' ? failureText(result.failure) : result.content,
    ...(result.output_ref === undefined ? {} : { output_ref: result.output_ref }),
    ...(result.trimmed === undefined ? {} : { trimmed: result.trimmed }),
    duration_ms: result.duration_ms,
    attempts: result.attempts,
    ...(result.link === undefined ? {} : { link: result.link }),
  };
  run.log.append(
    result.failure === undefined
      ? {
          type: 'tool_result',
          ...ids,
          status: 'success',
          ...outcome,
          ...(result.value === undefined ? {} : { value: result.value }),
        }
      : {
          type: 'tool_result',
          ...ids,
          status: 'error',
          failure: result.failure,
          ...outcome,
          ...(result.debug_message === undefined ? {} : { debug_message: result.debug_message }),
        },
  );
  const { kind } = catalogueOf(pinned).get(call.name) ?? {};
  if (result.failure === undefined && kind === 'goal') achieveGoal(run, call.name, ids);
}

function displayName(tool: ToolSpec | undefined): { display_name?: string } {
  return tool?.display_name === undefined ? {} : { display_name: tool.display_name };
}

function catalogueOf(pinned: Pinned): Map<string, ToolSpec> {
  return new Map(pinned.spec.tools.map((tool) => [tool.tool_id, tool]));
}

/** A tool that is denied has an id as well; a name that a model invented is none. */
function idsOf(step: Step, { name, tool_call_id }: RequestedCall, { spec, revision }: Pinned) {
  const isDenied = isSince2(revision) && spec.denied_tools?.includes(name) === true;
  const isKnown = isDenied || spec.tools.some(({ tool_id }) => tool_id === name);
  return { step_id: step.id, ...(isKnown ? { tool_id: name } : {}), tool_call_id };
}
