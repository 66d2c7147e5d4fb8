/**
 * A batch of tool calls: admitted whole or refused whole, run in parallel, and every call gets exactly one
 * `tool_result`, whatever happens to it.
 */
import { ActivityCancellationType, ActivityFailure, proxyActivities, TimeoutFailure } from '@temporalio/workflow';
import type { CallToolResult, RunActivities } from '../contract/activities.js';
import { failureText, toolFailure } from '../contract/tool-failure.js';
import type { ToolFailure, ToolSpec } from '../contract/tools.js';
import { stopBeforeBatch, stopText } from './caps.js';
import type { RequestedCall, Step } from './model-step.js';
import { failureOf } from './run-failure.js';
import { setPhase, summary } from './run-page.js';
import type { RunPage } from './run-page.js';
import type { Pinned, Run, Stop } from './run-state.js';
import { settle } from './settle.js';

/** Above the tool's own timeout, which the activity enforces: this one only catches a worker that is stuck. */
const TIMEOUT_MARGIN_MS = 10_000;

/** The limit that refused the batch, if one did. */
export async function runBatch(
  run: Run,
  pinned: Pinned,
  page: RunPage,
  step: Step,
  calls: RequestedCall[],
): Promise<Stop | undefined> {
  const catalogue = new Map(pinned.spec.tools.map((tool) => [tool.tool_id, tool]));
  for (const call of calls) {
    run.log.append({
      type: 'tool_requested',
      ...idsOf(step, call, catalogue),
      name: call.name,
      arguments: call.arguments,
      ...(call.provider_meta === undefined ? {} : { provider_meta: call.provider_meta }),
    });
  }
  const known = calls.filter((call) => catalogue.has(call.name));
  const stop = stopBeforeBatch(run, known.length);
  if (stop !== undefined) {
    const refusal = toolFailure('capped', `The call was not made: the batch would exceed ${stopText(stop)}.`);
    for (const call of calls) closeCall(run, step, call, catalogue, failed(refusal));
    return stop;
  }

  if (known.length > 0) setPhase(run, 'executing_tools');
  run.counters.usage.tool_calls += known.length;
  for (const call of known) {
    const { timeout_ms } = catalogue.get(call.name) as ToolSpec;
    run.log.append({ type: 'tool_scheduled', ...idsOf(step, call, catalogue), timeout_ms });
  }
  page.show();
  const slowest = { ms: 0 };
  const successes = await Promise.all(
    calls.map(async (call) => {
      const tool = catalogue.get(call.name);
      const result =
        tool === undefined
          ? failed(unavailable(call, catalogue))
          : await runTool(run, pinned, step, call, tool, slowest);
      closeCall(run, step, call, catalogue, result);
      return result.failure === undefined;
    }),
  );
  run.worked_ms += slowest.ms;
  run.counters.consecutive_failed = successes.includes(true) ? 0 : run.counters.consecutive_failed + 1;
  return undefined;
}

async function runTool(
  run: Run,
  pinned: Pinned,
  step: Step,
  call: RequestedCall,
  tool: ToolSpec,
  slowest: { ms: number },
): Promise<CallToolResult> {
  const { runtime } = pinned.spec;
  const started = Date.now();
  const { callTool } = proxyActivities<RunActivities>({
    startToCloseTimeout: tool.timeout_ms + TIMEOUT_MARGIN_MS,
    heartbeatTimeout: runtime.heartbeat_timeout_ms,
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: { maximumAttempts: tool.max_attempts, initialInterval: 500, maximumInterval: 10_000 },
    summary: summary(`${tool.tool_id} ${call.arguments}`),
  });
  const settled = await settle(run, () =>
    callTool({
      run: run.handle,
      step_id: step.id,
      tool_call_id: call.tool_call_id,
      tool_id: tool.tool_id,
      arguments: call.arguments,
      signal_live: runtime.signal_live,
    }),
  );
  if (settled.state === 'done') {
    const { value } = settled;
    slowest.ms = Math.max(slowest.ms, value.duration_ms);
    // The activity only knows that it was told to stop; the run knows why.
    const isOverTime = value.failure?.kind === 'canceled' && run.cancellation === undefined && run.deadline_passed;
    return isOverTime ? { ...value, failure: stoppedFailure(run), content: failureText(stoppedFailure(run)) } : value;
  }
  const stopped = run.cancellation !== undefined || run.deadline_passed;
  const why = stopped || settled.state === 'abandoned' ? stoppedFailure(run) : lostFailure(tool, settled.error);
  return failed(why, Date.now() - started);
}

function stoppedFailure(run: Run): ToolFailure {
  return run.cancellation !== undefined
    ? toolFailure('canceled', `The run was canceled (${run.cancellation.reason}) while this call was running.`)
    : toolFailure('timeout', 'The time budget of the run was used up while this call was running.');
}

/** The activity returns its failures; what is thrown is a worker that never answered. */
function lostFailure(tool: ToolSpec, error: unknown): ToolFailure {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  if (!(cause instanceof TimeoutFailure)) return toolFailure('internal', failureOf(error).debug_message);
  if (tool.idempotent) {
    const timeout = `${tool.tool_id} gave no answer in ${tool.max_attempts} attempts (${cause.timeoutType}).`;
    return toolFailure('timeout', timeout);
  }
  return toolFailure(
    'outcome_unknown',
    `The worker that ran ${tool.tool_id} was lost (${cause.timeoutType}); the call may or may not have taken effect, and it is not safe to repeat. Check before you call it again.`,
  );
}

function unavailable(call: RequestedCall, catalogue: Map<string, ToolSpec>): ToolFailure {
  const names = [...catalogue.keys()].join(', ');
  return toolFailure(
    'unavailable',
    `There is no tool "${call.name}". ${names === '' ? 'There are no tools.' : `Tools: ${names}.`}`,
  );
}

/** Without a duration it was never tried. */
function failed(failure: ToolFailure, duration_ms?: number): CallToolResult {
  return {
    content: failureText(failure),
    failure,
    duration_ms: duration_ms ?? 0,
    attempts: duration_ms === undefined ? 0 : 1,
    progress: [],
    retries: [],
  };
}

function closeCall(
  run: Run,
  step: Step,
  call: RequestedCall,
  catalogue: Map<string, ToolSpec>,
  result: CallToolResult,
): void {
  const ids = idsOf(step, call, catalogue);
  for (const note of result.progress) run.log.append({ type: 'tool_progress', ...ids, ...note });
  result.retries.forEach((reason, index) => {
    const attempt = index + 2;
    run.log.append({ type: 'tool_retry', ...ids, attempt, reason, live_id: `${call.tool_call_id}.retry_${attempt}` });
  });
  const outcome = {
    name: call.name,
    content: result.content,
    ...(result.output_ref === undefined ? {} : { output_ref: result.output_ref }),
    ...(result.trimmed === undefined ? {} : { trimmed: result.trimmed }),
    duration_ms: result.duration_ms,
    attempts: result.attempts,
  };
  run.log.append(
    result.failure === undefined
      ? { type: 'tool_result', ...ids, status: 'success', ...outcome }
      : { type: 'tool_result', ...ids, status: 'error', failure: result.failure, ...outcome },
  );
}

function idsOf(step: Step, call: RequestedCall, catalogue: Map<string, ToolSpec>) {
  const tool_id = catalogue.get(call.name)?.tool_id;
  return { step_id: step.id, ...(tool_id === undefined ? {} : { tool_id }), tool_call_id: call.tool_call_id };
}
