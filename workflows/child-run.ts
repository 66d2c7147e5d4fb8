/** An agent used as a tool: a child workflow with its own log and stream, whose end is the result of the call. */
import {
  CancellationScope,
  ChildWorkflowCancellationType,
  getExternalWorkflowHandle,
  ParentClosePolicy,
  patched,
  proxyActivities,
  startChild,
  WorkflowIdReusePolicy,
  workflowInfo,
} from '@temporalio/workflow';
import type { CallToolResult, RunActivities } from '../contract/activities.js';
import { childRunId, streamKey } from '../contract/ids.js';
import { RUN_WORKFLOW } from '../contract/names.js';
import { callerOf, inherited } from '../contract/principal.js';
import type { RunLink, RunOutput, RunRequest } from '../contract/run.js';
import { INLINE_LIMIT_BYTES } from '../contract/sizes.js';
import { failureText, toolFailure } from '../contract/tool-failure.js';
import { takeNews } from '../contract/tool-state.js';
import type { ToolFailure, ToolSpec } from '../contract/tools.js';
import { summaryLine } from '../contract/ui-markdown.js';
import { settleLease } from './budget.js';
import { closeChildAwaits } from './child-awaits.js';
import type { Step } from './model-step.js';
import { brokenCall, failureOf } from './run-failure.js';
import { childAttributes } from './run-page.js';
import type { Pinned, Run } from './run-state.js';
import { cancellationType, settle } from './settle.js';
import { stoppedFailure } from './stopped-failure.js';
import { CANCEL_AFTER_START } from './patches.js';
import type { BatchCall } from './tool-batch.js';

export async function runChild(
  run: Run,
  pinned: Pinned,
  step: Step,
  call: BatchCall,
  tool: ToolSpec,
): Promise<CallToolResult> {
  const started = Date.now();
  const agent_id = tool.agent_id ?? '';
  const run_id = childRunId(run.handle.run_id, call.tool_call_id);
  const link: RunLink = { run_id, agent_id, stream_key: streamKey(run_id) };
  const ids = { step_id: step.id, tool_id: tool.tool_id, tool_call_id: call.tool_call_id };
  const settled = await settle(
    run,
    async (gate) => {
      const task = workflowInfo().historyLength;
      const isTold = pinned.revision !== undefined;
      gate.hold(() => isTold || (workflowInfo().historyLength !== task && patched(CANCEL_AFTER_START)));
      const start = () =>
        startChild<(request: unknown) => Promise<RunOutput>>(RUN_WORKFLOW, {
          workflowId: run_id,
          args: [childRequest(run, pinned, call, agent_id)],
          cancellationType: ChildWorkflowCancellationType.WAIT_CANCELLATION_COMPLETED,
          parentClosePolicy: ParentClosePolicy.REQUEST_CANCEL,
          workflowIdReusePolicy: WorkflowIdReusePolicy.REJECT_DUPLICATE,
          staticSummary: summaryLine(`${agent_id}: ${call.prompt ?? ''}`),
          typedSearchAttributes: childAttributes(run, { run_id, agent_id }),
        });
      const child = await (isTold ? CancellationScope.nonCancellable(start) : start());
      run.log.append({ type: 'agent_run_started', ...ids, link });
      call.started = true;
      gate.release();
      return isTold ? untilOver(child) : child.result();
    },
    'unbounded',
  );
  closeChildAwaits(run, run_id);
  const output = settled.state === 'done' ? settled.value : undefined;
  takeNews(run.states.shared, output?.tool_state);
  // One whose end nobody saw is taken to have spent all it could; one that never started gives its lease back.
  if (call.started === true) settleLease(run, call.tool_call_id, output?.tree_usage);
  const result = (failure: ToolFailure): CallToolResult => ({
    content: failureText(failure),
    failure,
    duration_ms: Date.now() - started,
    attempts: 1,
    progress: [],
    retries: [],
    ...(call.started === true ? { link } : {}),
  });
  if (output === undefined) {
    if (run.cancellation !== undefined || run.deadline_passed) return result(stoppedFailure(run));
    const lost = `The agent ${agent_id} (run ${run_id}) was lost: its end was not seen.`;
    const debug = settled.state === 'failed' ? { debug_message: failureOf(settled.error).debug_message } : {};
    return { ...result(toolFailure('internal', lost)), ...debug };
  }
  if (output.status === 'failed') {
    const kind = output.failure.code === 'budget_exhausted' ? 'capped' : 'internal';
    return result(toolFailure(kind, `The agent ${agent_id} (run ${run_id}) failed: ${output.failure.message}`));
  }
  if (output.status === 'canceled') {
    const stopped = run.cancellation !== undefined || run.deadline_passed;
    const why = toolFailure(
      'canceled',
      `The agent ${agent_id} (run ${run_id}) was canceled: ${output.cancellation.reason}.`,
    );
    return result(stopped ? stoppedFailure(run) : why);
  }
  const finalized = await finalize(run, pinned, tool, call, output);
  return { ...finalized, duration_ms: Date.now() - started, attempts: 1, progress: [], retries: [], link };
}

/**
 * Canceled with its scope, as any workflow from outside: the run is told when the server has done so. Of a cancel that
 * is the SDK's own for children it is told nothing, and gets a workflow task without any work in it, which the guard
 * against early events cannot see (`refuse-early-events.ts`).
 */
async function untilOver<T>({ workflowId, result }: { workflowId: string; result(): Promise<T> }): Promise<T> {
  const cancel = () => CancellationScope.nonCancellable(() => getExternalWorkflowHandle(workflowId).cancel());
  // One that is over cannot be canceled, and needs not be.
  void CancellationScope.current().cancelRequested.catch(() => cancel().catch(() => {}));
  return CancellationScope.nonCancellable(() => result());
}

function childRequest(run: Run, pinned: Pinned, call: BatchCall, agentId: string): RunRequest {
  const { request, spec } = pinned;
  return {
    agent_id: agentId,
    input: call.prompt ?? call.arguments,
    ...inherited(request),
    // A thread shows its client the calls of the turn's own run, so nobody would answer those of a child.
    ...(request.client_tools === undefined || run.turn !== undefined ? {} : { client_tools: request.client_tools }),
    ...(run.handle.thread_id === undefined ? {} : { thread_id: run.handle.thread_id }),
    ...(Object.keys(run.states.shared).length === 0 ? {} : { tool_state: run.states.shared }),
    signal_live: spec.runtime.signal_live,
    parent: {
      run_id: run.handle.run_id,
      root_run_id: run.handle.root_run_id,
      tool_call_id: call.tool_call_id,
      depth: (spec.depth ?? 0) + 1,
      lease: run.tree.leases[call.tool_call_id] ?? {},
      policies: [...(spec.policies ?? [])],
    },
  };
}

/** The answer as it is, or what the finalizer makes of the child's run. */
async function finalize(
  run: Run,
  { request }: Pinned,
  tool: ToolSpec,
  call: BatchCall,
  output: RunOutput & { status: 'success' },
) {
  if (tool.finalizer !== true && output.answer.length <= INLINE_LIMIT_BYTES / 4) return { content: output.answer };
  const { finalizeChild } = proxyActivities<RunActivities>({
    startToCloseTimeout: tool.timeout_ms,
    heartbeatTimeout: 10_000,
    cancellationType: cancellationType(run),
    // It only aggregates, and returns its failures: another attempt is for a worker that was lost.
    retry: { maximumAttempts: 3 },
    summary: summaryLine(`finalize ${tool.tool_id}`),
  });
  const input = {
    run: run.handle,
    caller: callerOf(request),
    tool_id: tool.tool_id,
    tool_call_id: call.tool_call_id,
    arguments: call.arguments,
    output,
  };
  const settled = await settle(run, () => finalizeChild(input));
  if (settled.state === 'done') return settled.value;
  const stopped = run.cancellation !== undefined || run.deadline_passed || settled.state === 'abandoned';
  if (stopped) return { content: failureText(stoppedFailure(run)), failure: stoppedFailure(run) };
  const broken = brokenCall(`The finalizer of ${tool.tool_id}`, settled.error);
  return { content: failureText(broken.failure), ...broken };
}
