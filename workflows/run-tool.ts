/** A tool as an activity. */
import { ActivityCancellationType, ActivityFailure, proxyActivities, TimeoutFailure } from '@temporalio/workflow';
import type { CallToolResult, RunActivities } from '../contract/activities.js';
import { callerOf } from '../contract/principal.js';
import { failureText, toolFailure } from '../contract/tool-failure.js';
import { applyChanges, snapshotOf } from '../contract/tool-state.js';
import type { ToolFailure, ToolSpec } from '../contract/tools.js';
import { summaryLine } from '../contract/ui-markdown.js';
import { foundSpec } from './found-spec.js';
import type { Step } from './model-step.js';
import { brokenCall } from './run-failure.js';
import type { Pinned, Run } from './run-state.js';
import { settle } from './settle.js';
import { stoppedFailure } from './stopped-failure.js';
import type { BatchCall } from './tool-batch.js';

/** Above the tool's own timeout, which the activity enforces: this one only catches a worker that is stuck. */
const TIMEOUT_MARGIN_MS = 10_000;

export async function runTool(
  run: Run,
  pinned: Pinned,
  step: Step,
  call: BatchCall,
  tool: ToolSpec,
): Promise<CallToolResult> {
  const { runtime } = pinned.spec;
  const started = Date.now();
  const { callTool } = proxyActivities<RunActivities>({
    startToCloseTimeout: tool.timeout_ms + TIMEOUT_MARGIN_MS,
    heartbeatTimeout: runtime.heartbeat_timeout_ms,
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: { maximumAttempts: tool.max_attempts, initialInterval: 500, maximumInterval: 10_000 },
    summary: summaryLine(`${tool.tool_id} ${call.arguments}`),
  });
  const settled = await settle(run, () =>
    callTool({
      run: run.handle,
      step_id: step.id,
      tool_call_id: call.tool_call_id,
      tool_id: tool.tool_id,
      arguments: call.arguments,
      ...(call.approval === undefined || call.given_arguments === undefined ? {} : { approved: call.given_arguments }),
      signal_live: runtime.signal_live,
      ...foundSpec(tool),
      caller: callerOf(pinned.request),
      ...(tool.reads === undefined ? {} : { state: snapshotOf(run.states, tool.reads) }),
    }),
  );
  if (settled.state === 'done') {
    const { value } = settled;
    if (run.batch !== undefined) run.batch.slowest_ms = Math.max(run.batch.slowest_ms ?? 0, value.duration_ms);
    // The activity only knows that it was told to stop; the run knows why.
    const isOverTime = value.failure?.kind === 'canceled' && run.cancellation === undefined && run.deadline_passed;
    return isOverTime
      ? { ...value, failure: stoppedFailure(run), content: failureText(stoppedFailure(run)) }
      : remember(run, value);
  }
  const stopped = run.cancellation !== undefined || run.deadline_passed;
  const duration = Date.now() - started;
  if (stopped || settled.state === 'abandoned') return failedCall(stoppedFailure(run), duration);
  return lostCall(tool, settled.error, duration);
}

/** Makes the changes of a call to the tools' state; where they cannot be made, the call has another result. */
function remember(run: Run, result: CallToolResult): CallToolResult {
  const { changes, ...rest } = result;
  if (changes === undefined) return rest;
  const otherwise = applyChanges(run.states, changes);
  if (otherwise === undefined) return rest;
  const { content, failure, notice } = otherwise;
  const { duration_ms, attempts, progress, retries } = rest;
  return {
    content,
    ...(failure === undefined ? {} : { failure }),
    duration_ms,
    attempts,
    progress,
    retries,
    ...(notice === undefined ? {} : { notices: [notice] }),
  };
}

/** Without a duration it was never tried. */
export function failedCall(failure: ToolFailure, duration_ms?: number, debug_message?: string): CallToolResult {
  return {
    content: failureText(failure),
    failure,
    ...(debug_message === undefined ? {} : { debug_message }),
    duration_ms: duration_ms ?? 0,
    attempts: duration_ms === undefined ? 0 : 1,
    progress: [],
    retries: [],
  };
}

/** The activity returns its failures; what is thrown is a worker that never answered. */
function lostCall(tool: ToolSpec, error: unknown, duration_ms: number): CallToolResult {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  if (!(cause instanceof TimeoutFailure)) {
    const { failure, debug_message } = brokenCall(tool.tool_id, error);
    return failedCall(failure, duration_ms, debug_message);
  }
  if (tool.idempotent) {
    const timeout = `${tool.tool_id} gave no answer in ${tool.max_attempts} attempts (${cause.timeoutType}).`;
    return failedCall(toolFailure('timeout', timeout), duration_ms);
  }
  const unknown = `The worker that ran ${tool.tool_id} was lost (${cause.timeoutType}); the call may or may not have taken effect, and it is not safe to repeat. Check before you call it again.`;
  return failedCall(toolFailure('outcome_unknown', unknown), duration_ms);
}
