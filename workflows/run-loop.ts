/** The loop: planning, tools, planning, … until there is an answer, a limit says stop, or someone cancels. */
import { allHandlersFinished, condition, continueAsNew, proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { RunActivities } from '../contract/activities.js';
import type { Cancellation, RunOutcome } from '../contract/run.js';
import { beginStates } from '../contract/tool-state.js';
import { cannotAffordSynthesis } from './budget.js';
import { stopBeforeStep, stopText } from './caps.js';
import { allTold, watchPauses } from './child-awaits.js';
import { startClock } from './clock.js';
import { continued, cutFailure, GO_ON, isCut } from './cut-answer.js';
import { beginStep, callModel, endStep } from './model-step.js';
import type { Step } from './model-step.js';
import { declareGoals, repromptForGoals } from './goals.js';
import { REVISION } from './patches.js';
import { failure, failureOf } from './run-failure.js';
import { setPhase } from './run-page.js';
import type { RunPage } from './run-page.js';
import { carry, pin } from './run-state.js';
import type { CarriedRun, Pinned, Run, Stop } from './run-state.js';
import { settle } from './settle.js';
import { finishBatch, runBatch } from './tool-batch.js';

const FINISH = 'Call no tools. Answer the user now, as well as you can, with what you already know.';

/** Runs until there is an outcome, or throws continue-as-new. */
export async function advance(run: Run, page: RunPage, raw: unknown): Promise<RunOutcome> {
  setPhaseAtStart(run);
  page.show();
  const pinned = run.pinned ?? (await resolve(run, raw));
  if ('status' in pinned) return pinned;
  const clock = startClock(run);
  const stopWatching = watchPauses(run, clock, page);
  try {
    return await loop(run, pinned, page, raw);
  } finally {
    stopWatching();
    clock.stop();
  }
}

function setPhaseAtStart(run: Run): void {
  if (run.phase === undefined) setPhase(run, 'prompted');
}

async function resolve(run: Run, raw: unknown): Promise<Pinned | RunOutcome> {
  const { resolveRun } = proxyActivities<RunActivities>({
    // It asks the agent's toolsets for their tools. A worker that is lost in its middle costs the heartbeat's timeout.
    startToCloseTimeout: 600_000,
    heartbeatTimeout: 10_000,
    retry: { maximumAttempts: 5 },
    summary: `resolve ${run.handle.agent_id}`.slice(0, 100),
  });
  const settled = await settle(run, () =>
    resolveRun({
      run_id: run.handle.run_id,
      request: raw,
      revision: REVISION,
      ...(workflowInfo().parent === undefined ? {} : { is_child: true }),
    }),
  );
  if (settled.state === 'done') {
    run.pinned = pin(settled.value);
    Object.assign(run.states, beginStates(settled.value.request.tool_state));
    declareGoals(run);
    return run.pinned;
  }
  if (run.cancellation !== undefined) return canceled(run.cancellation);
  return {
    status: 'failed',
    phase: 'failed',
    failure: failureOf(settled.state === 'failed' ? settled.error : undefined),
  };
}

async function loop(run: Run, pinned: Pinned, page: RunPage, raw: unknown): Promise<RunOutcome> {
  const later = () => continueLater(run, pinned, raw);
  if (run.batch !== undefined) {
    const { step } = run.batch;
    await finishBatch(run, pinned, page, later);
    endStep(run, step, 'completed');
  }
  for (;;) {
    if (run.cancellation !== undefined) return canceled(run.cancellation);
    const stop = stopBeforeStep(run);
    if (stop !== undefined) return synthesize(run, pinned, page, stop);
    if (isDue(pinned)) await later();

    setPhase(run, 'planning');
    const step = beginPlanning(run, page);
    const decision = await callModel(run, pinned, step, 'planning');
    let refused: Stop | undefined;
    if (decision.kind === 'tools') refused = await runBatch(run, pinned, page, step, decision.calls, later);
    endStep(run, step, decision.kind === 'answer' || decision.kind === 'tools' ? 'completed' : 'error');

    if (run.cancellation !== undefined) return canceled(run.cancellation);
    if (decision.kind === 'failed') return { status: 'failed', phase: 'failed', failure: decision.failure };
    if (decision.kind === 'stopped') return synthesize(run, pinned, page, decision.stop);
    if (refused !== undefined) return synthesize(run, pinned, page, refused);
    if (decision.kind === 'answer') {
      const { on_cut_answer, synthesis } = pinned.spec;
      let last = step;
      const goOn = async () => {
        last = beginPlanning(run, page);
        const more = await callModel(run, pinned, last, 'planning', GO_ON, true);
        endStep(run, last, more.kind === 'answer' ? 'completed' : 'error');
        return more;
      };
      const { text, ...why } = on_cut_answer === 'continue' ? await continued(run, decision, goOn) : decision;
      if (run.cancellation !== undefined) return canceled(run.cancellation);
      if (repromptForGoals(run)) continue;
      if (synthesis) return synthesize(run, pinned, page);
      if (on_cut_answer === 'fail' && isCut(why)) {
        return { status: 'failed', phase: 'failed', failure: cutFailure(run, step) };
      }
      run.log.append({ type: 'summary_final', step_id: last.id, text });
      return success(text, why);
    }
  }
}

function beginPlanning(run: Run, page: RunPage): Step {
  const step = beginStep(run, `Step ${run.counters.steps + 1}`);
  run.counters.usage.steps = (run.counters.usage.steps ?? 0) + 1;
  page.show();
  return step;
}

function success(answer: string, { stop_reason }: { stop_reason?: string }): RunOutcome {
  return { status: 'success', phase: 'completed', answer, ...(stop_reason === undefined ? {} : { stop_reason }) };
}

/** One last model call without tools: because the agent declares it, or because a limit says stop. */
async function synthesize(run: Run, pinned: Pinned, page: RunPage, stop?: Stop): Promise<RunOutcome> {
  if (stop !== undefined) run.log.append({ type: 'budget_exceeded', ...stop, scope: stop.scope ?? 'run' });
  if (cannotAffordSynthesis(run)) {
    const why = `run ${run.handle.run_id} has not enough left of what its parent leased it for one more model call`;
    return { status: 'failed', phase: 'failed', failure: failure('budget_exhausted', why) };
  }
  setPhase(run, 'synthesizing');
  const step = beginStep(run, 'Synthesis');
  page.show();
  const directive =
    stop === undefined
      ? 'Write the final answer for the user from all of the above.'
      : `This run has reached ${stopText(stop)}. ${FINISH}`;
  const decision = await callModel(run, pinned, step, 'synthesis', directive);
  endStep(run, step, decision.kind === 'answer' ? 'completed' : 'error');
  if (decision.kind === 'answer') return success(decision.text, decision);
  if (run.cancellation !== undefined) return canceled(run.cancellation);
  if (decision.kind === 'failed') return { status: 'failed', phase: 'failed', failure: decision.failure };
  return { status: 'failed', phase: 'failed', failure: failureOf(new Error('the synthesis pass was interrupted')) };
}

function canceled(cancellation: Cancellation): RunOutcome {
  return { status: 'canceled', phase: 'canceled', cancellation };
}

/** Time to continue as new. */
function isDue(pinned: Pinned): boolean {
  const { continueAsNewSuggested, historyLength } = workflowInfo();
  const threshold = pinned.spec.runtime.continue_as_new_after_events;
  return continueAsNewSuggested || (threshold !== undefined && historyLength >= threshold);
}

/** Returns when it turns out not to be the time: a cancel has come, or there is something to do. */
async function continueLater(run: Run, pinned: Pinned, raw: unknown): Promise<void> {
  await condition(allHandlersFinished);
  await allTold(run);
  if (run.cancellation !== undefined || run.working > 0) return;
  await continueAsNew<(raw: unknown, carried: CarriedRun) => Promise<unknown>>(raw, carry(run, pinned));
}
