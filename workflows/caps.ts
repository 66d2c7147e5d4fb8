/** When the limits of a run or of its tree say stop. Checked at step boundaries and before a batch, never in the middle of a call. */
import type { Limits } from '../contract/limits.js';
import { stopForCounts, stopForTokens, timeBudget, treeLimits } from './budget.js';
import type { Run, Stop } from './run-state.js';

/** Before the next planning call. */
export function stopBeforeStep(run: Run): Stop | undefined {
  const limits = limitsOf(run);
  const { consecutive_failed, usage } = run.counters;
  const budget = timeBudget(run);
  if (run.deadline_passed && budget !== undefined) {
    return { limit: 'time_budget', maximum: budget, used: Date.now() - run.started_at - run.paused_ms };
  }
  return (
    reached('max_consecutive_failed_tool_calls', failureCap(run), consecutive_failed) ??
    reached('max_steps', limits.max_steps, usage.steps ?? run.counters.steps) ??
    stopForTokens(run) ??
    stopForCounts(run, { steps: 1 })
  );
}

/** Before a batch of tool calls, of which some are children: it is admitted whole or refused whole. */
export function stopBeforeBatch(run: Run, calls: number, children: number): Stop | undefined {
  const limits = limitsOf(run);
  const { usage } = run.counters;
  return (
    exceeded('max_tool_calls', limits.max_tool_calls, usage.tool_calls, calls) ??
    exceeded('max_children', limits.max_children, usage.children ?? 0, children) ??
    stopForCounts(run, { tool_calls: calls, children })
  );
}

/** The tree's is for each of its runs: failures of different runs do not follow one another. */
function failureCap(run: Run): number | undefined {
  const caps = [limitsOf(run), treeLimits(run)].map((limits) => limits.max_consecutive_failed_tool_calls);
  const given = caps.filter((cap) => cap !== undefined);
  return given.length === 0 ? undefined : Math.min(...given);
}

function limitsOf(run: Run): Limits {
  return run.pinned?.spec.limits.run ?? {};
}

export function stopText(stop: Stop): string {
  const whose = stop.scope === 'tree' ? ' of the whole tree' : '';
  return `the limit ${stop.limit} of ${stop.maximum}${whose} (used: ${stop.used}${stop.requested === undefined ? '' : `, asked for: ${stop.requested} more`})`;
}

function exceeded(
  limit: Stop['limit'],
  maximum: number | undefined,
  used: number,
  requested: number,
): Stop | undefined {
  return maximum !== undefined && requested > 0 && used + requested > maximum
    ? { limit, maximum, used, requested }
    : undefined;
}

function reached(limit: Stop['limit'], maximum: number | undefined, used: number): Stop | undefined {
  // A failure cap of 0 would stop a run before it began; it means: stop at the first failed decision.
  const threshold = limit === 'max_consecutive_failed_tool_calls' ? Math.max(1, maximum ?? 1) : maximum;
  return maximum !== undefined && threshold !== undefined && used >= threshold ? { limit, maximum, used } : undefined;
}
