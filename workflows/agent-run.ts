/**
 * The run workflow.
 *
 * R1  `run_completed` is the last event of the log, exactly once, also on cancel, failure and timeout.
 * R2  Nothing thrown here fails a workflow task for ever: what is not continue-as-new becomes an outcome.
 * R3  A root ends as Failed or Canceled in Temporal when it did; the log holds the same in our words. A child, and the
 *     run of a thread's turn, returns its output in any case.
 */
import {
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  ContinueAsNew,
  condition,
  proxyActivities,
  workflowInfo,
} from '@temporalio/workflow';
import type { RunActivities } from '../contract/activities.js';
import type { RunOutcome, RunOutput } from '../contract/run.js';
import { childrenOf } from '../contract/snapshot.js';
import { newsOf } from '../contract/tool-state.js';
import { treeUsage } from './budget.js';
import { failPendingGoals } from './goals.js';
import { registerHandlers, requestCancel } from './handlers.js';
import { NewerRevision } from './patches.js';
import { engineMessage, failure, failureOf } from './run-failure.js';
import { advance } from './run-loop.js';
import { createRunPage, setPhase } from './run-page.js';
import { beginRun, resumeRun } from './run-state.js';
import type { CarriedRun, Run } from './run-state.js';

export async function agentRun(request: unknown, carried?: CarriedRun): Promise<RunOutput> {
  const run = carried?.version === 1 ? resumeRun(carried) : beginRun(request);
  registerHandlers(run);
  const engine = CancellationScope.current();
  engine.cancelRequested.catch(() =>
    requestCancel(run, { reason: run.handle.parent_run_id ? 'parent_canceled' : 'user_requested' }),
  );
  return CancellationScope.nonCancellable(() => conduct(run, request, carried, engine));
}

async function conduct(
  run: Run,
  request: unknown,
  carried: CarriedRun | undefined,
  engine: CancellationScope,
): Promise<RunOutput> {
  const page = createRunPage(run);
  let outcome: RunOutcome;
  try {
    outcome = isUnknownVersion(carried) ?? (await advance(run, page, request));
  } catch (error) {
    if (error instanceof ContinueAsNew || error instanceof NewerRevision) throw error;
    outcome = { status: 'failed', phase: 'failed', failure: failureOf(error) };
  }
  const output = complete(run, outcome);
  page.close();
  if (output.status === 'failed' && isRoot(run)) {
    throw ApplicationFailure.create({
      message: engineMessage(output.failure),
      type: output.failure.code,
      nonRetryable: true,
      details: [output],
    });
  }
  if (output.status === 'canceled' && isRoot(run)) await endAsCanceled(run, output, engine);
  return output;
}

function complete(run: Run, outcome: RunOutcome): RunOutput {
  failPendingGoals(run, outcome);
  setPhase(run, outcome.phase);
  const { usage } = run.counters;
  const tree_usage = treeUsage(run);
  run.log.append({
    type: 'run_completed',
    ...outcome,
    usage,
    tree_usage,
    duration_ms: Date.now() - run.started_at,
  });
  const news = isRoot(run) ? undefined : newsOf(run.states);
  const tool_state = news === undefined ? {} : { tool_state: news };
  const started = childrenOf(run.log.events);
  const children = started.length === 0 ? {} : { children: started };
  return { version: 1, run: run.handle, usage, tree_usage, ...children, ...tool_state, ...outcome };
}

/**
 * Temporal lets a workflow end as Canceled only when its cancel was asked of the server. Ours came as an update or
 * a signal with a reason, so an activity asks for it; where that fails the run ends as Failed, of type `canceled`.
 */
async function endAsCanceled(run: Run, output: RunOutput, engine: CancellationScope): Promise<never> {
  if (!engine.consideredCancelled) {
    const { confirmCancel } = proxyActivities<RunActivities>({
      startToCloseTimeout: 10_000,
      retry: { maximumAttempts: 3 },
      summary: 'end as Canceled',
    });
    const { workflowId, runId } = workflowInfo();
    await confirmCancel({ run_id: workflowId, workflow_run_id: runId }).catch(() => {});
    await condition(() => engine.consideredCancelled, 10_000);
  }
  const reason = run.cancellation?.reason ?? 'user_requested';
  if (engine.consideredCancelled)
    throw new CancelledFailure(`Run ${run.handle.run_id} was canceled: ${reason}`, [output]);
  throw ApplicationFailure.create({
    message: `Run ${run.handle.run_id} was canceled: ${reason}`,
    type: 'canceled',
    nonRetryable: true,
    details: [output],
  });
}

function isRoot(run: Run): boolean {
  return run.handle.parent_run_id === undefined && run.turn === undefined;
}

function isUnknownVersion(carried: CarriedRun | undefined): RunOutcome | undefined {
  if (carried === undefined || carried.version === 1) return undefined;
  const debug = `state of version ${String((carried as { version: unknown }).version)} was carried here; this worker knows version 1`;
  return { status: 'failed', phase: 'failed', failure: failure('unknown_version', debug) };
}
