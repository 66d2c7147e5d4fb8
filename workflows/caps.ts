/** When the limits of a run say stop. Checked at step boundaries and before a batch; never in the middle of a call. */
import type { Limits } from '../contract/limits.js';
import type { Run, Stop } from './run-state.js';

/** Before the next planning call. */
export function stopBeforeStep(run: Run): Stop | undefined {
  const limits = limitsOf(run);
  const { steps, consecutive_failed, usage } = run.counters;
  if (run.deadline_passed && limits.time_budget !== undefined) {
    return { limit: 'time_budget', maximum: limits.time_budget, used: Date.now() - run.started_at };
  }
  return (
    reached('max_consecutive_failed_tool_calls', limits.max_consecutive_failed_tool_calls, consecutive_failed) ??
    reached('max_steps', limits.max_steps, steps) ??
    reached('max_tokens', limits.max_tokens, usage.total_tokens)
  );
}

/** Before a batch of tool calls: it is admitted whole or refused whole. */
export function stopBeforeBatch(run: Run, calls: number): Stop | undefined {
  const maximum = limitsOf(run).max_tool_calls;
  const used = run.counters.usage.tool_calls;
  if (maximum === undefined || used + calls <= maximum) return undefined;
  return { limit: 'max_tool_calls', maximum, used, requested: calls };
}

export function limitsOf(run: Run): Limits {
  return run.pinned?.spec.limits.run ?? {};
}

export function stopText(stop: Stop): string {
  return `the limit ${stop.limit} of ${stop.maximum} (used: ${stop.used}${stop.requested === undefined ? '' : `, asked for: ${stop.requested} more`})`;
}

function reached(limit: Stop['limit'], maximum: number | undefined, used: number): Stop | undefined {
  // A failure cap of 0 would stop a run before it began; it means: stop at the first failed decision.
  const threshold = limit === 'max_consecutive_failed_tool_calls' ? Math.max(1, maximum ?? 1) : maximum;
  return maximum !== undefined && threshold !== undefined && used >= threshold ? { limit, maximum, used } : undefined;
}
