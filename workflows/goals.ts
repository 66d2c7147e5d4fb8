/**
 * The goals of a run: what is declared, reached, given up. All of it is in the log, which is the only state.
 *
 * G1  Every goal that was declared is achieved or failed before `run_completed`, once.
 * G2  A run that would end without its goals is told to go on, within a budget, in the user's place.
 */
import type { GoalSpec } from '../contract/agent-spec.js';
import type { RunOutcome } from '../contract/run.js';
import type { Run } from './run-state.js';

const DEFAULT_REPROMPTS = 2;

type ReachableGoal = Extract<GoalSpec, { tool_id: string }>;

/** A goal that no tool can reach fails at once. */
export function declareGoals(run: Run): void {
  for (const goal of run.pinned?.spec.goals ?? []) {
    const { goal_id, goal_type, goal_data } = goal;
    run.log.append({ type: 'goal_declared', goal_id, goal_type, goal_data });
    if ('problem' in goal) run.log.append({ type: 'goal_failed', goal_id, reason: goal.problem });
  }
}

export function achieveGoal(
  run: Run,
  toolId: string,
  ids: { step_id: string; tool_id?: string; tool_call_id: string },
): void {
  const goal = pendingGoals(run).find((candidate) => candidate.tool_id === toolId);
  if (goal !== undefined) run.log.append({ type: 'goal_achieved', ...ids, goal_id: goal.goal_id });
}

/** True when the model was told to go on. */
export function repromptForGoals(run: Run): boolean {
  const pending = pendingGoals(run);
  if (pending.length === 0 || reprompts(run) >= budgetOf(run)) return false;
  const missing = pending.map((goal) => `${goal.goal_type} (with ${goal.tool_id})`).join(', ');
  run.log.append({
    type: 'reprompted',
    content: `You ended your turn, and these goals are not achieved yet: ${missing}. Do what is missing, then call the tool of each goal; its call is what counts.`,
    reason: `goals not achieved: ${pending.map((goal) => goal.goal_type).join(', ')}`,
  });
  return true;
}

export function failPendingGoals(run: Run, outcome: RunOutcome): void {
  for (const { goal_id } of pendingGoals(run)) {
    run.log.append({ type: 'goal_failed', goal_id, reason: reasonOf(run, outcome) });
  }
}

function reasonOf(run: Run, outcome: RunOutcome): string {
  if (outcome.status === 'failed') return `the run failed: ${outcome.failure.code}`;
  if (outcome.status === 'canceled') return `the run was canceled: ${outcome.cancellation.reason}`;
  const told = reprompts(run);
  return told >= budgetOf(run)
    ? `the run ended without achieving it, after it was told ${told} times to go on`
    : 'a limit of the run said stop before it was achieved';
}

function pendingGoals(run: Run): ReachableGoal[] {
  const over = new Set(
    run.log.events.flatMap((event) =>
      event.type === 'goal_achieved' || event.type === 'goal_failed' ? [event.goal_id] : [],
    ),
  );
  const goals = run.pinned?.spec.goals ?? [];
  return goals.filter((goal): goal is ReachableGoal => 'tool_id' in goal && !over.has(goal.goal_id));
}

function reprompts(run: Run): number {
  return run.log.events.filter((event) => event.type === 'reprompted').length;
}

function budgetOf(run: Run): number {
  return run.pinned?.spec.runtime.goal_reprompts ?? DEFAULT_REPROMPTS;
}
